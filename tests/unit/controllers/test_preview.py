"""Where jobs would go: a dropped one stays down, until its bundle changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from controllers.expansion import expand
from controllers.jobs.sentences import RECOVERING
from controllers.preview import explain, preview
from controllers.runtime.fleet import Fleet
from placement import Amounts, NodeView
from resources.bundle import Bundle
from resources.job import Job, JobStatus
from resources.reference import Ref
from store import ledger, resources
from store.store import Store
from tests.builders import POOL, a_bundle, a_job_entry, a_pool
from tests.clocked import Clocked

BUNDLE = Ref("bundle", "ch", "default")
JOB = Ref("job", "ch.primary.web", "default")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path, Clocked())
    opened.write(partial(resources.create, ref=POOL, document=a_pool()))
    opened.write(partial(resources.create, ref=BUNDLE, document=a_bundle(a_job_entry("web"), pool=POOL.name)))
    yield opened
    opened.close()


def test_a_job_that_was_dropped_stays_down_until_its_bundle_changes(store: Store) -> None:
    def drop(tx) -> None:
        bundle = resources.get(tx, BUNDLE)
        (made,) = expand(BUNDLE.name, bundle.spec, {})
        document = made.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        job = resources.create(tx, Ref("job", made.key.wire, "default"), document, owner=bundle.uid)
        status = JobStatus(phase="dropped", terminal="JobDropped: exit 3", history_generation=bundle.generation)
        resources.replace_status(tx, job, status)

    store.write(drop)
    fleet = Fleet(store)
    fleet.hydrate()

    def answers() -> list[str]:
        with store.read() as tx:
            bundle = resources.get(tx, BUNDLE)
            assert isinstance(bundle, Bundle)
            return [one.answer for one in preview(tx, bundle, fleet, fleet.scratch())]

    assert answers() == ["dropped"]
    other = a_bundle(a_job_entry("web"), a_job_entry("more"), pool=POOL.name)
    store.write(lambda tx: resources.replace(tx, resources.get(tx, BUNDLE), document=other))
    assert answers() == ["unschedulable"] * 2, "its pool has no node"


def test_why_asks_what_the_pass_asked(store: Store) -> None:
    """A node that a job recovers from is asked once more, so that what speaks against it then is the reason."""

    def waits(tx) -> None:
        (made,) = expand(BUNDLE.name, resources.get(tx, BUNDLE).spec, {})
        document = made.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        job = resources.create(tx, JOB, document)
        resources.replace_status(
            tx, job, JobStatus(phase="pending", ever_ran=True, excluded_node="a", excluded_reason=RECOVERING)
        )

    store.write(waits)
    fleet = Fleet(store)
    fleet.hydrate()
    tier = tier_of_the_pool(store)
    fleet.view.put_node(
        NodeView(name="a", pool=POOL.name, tier=tier, capacity=Amounts(8000, 8, 8192), no_schedule=("cordoned",))
    )
    with store.read() as tx:
        job = resources.get(tx, JOB)
        assert isinstance(job, Job)
        told = explain(tx, job, fleet, 0.0)
    assert told is not None
    assert told.sentence == "no node fits (1 nodes): 1 × cordoned"


def tier_of_the_pool(store: Store) -> str:
    with store.read() as tx:
        return resources.get(tx, POOL).spec.tiers[0].name


def test_a_plan_names_every_node_of_which_one_is_drawn(store: Store) -> None:
    def more(tx) -> None:
        resources.replace(tx, resources.get(tx, POOL), document=a_pool(ranking="weighted"))
        for name in ("a", "b"):
            resources.create(tx, Ref("node", name), {"pool": POOL.name}, labels={"rmctl/driver.process": "1"})
            ledger.set_room(tx, name, POOL.name, {"vcpu": (4000, 4000)})

    store.write(more)
    fleet = Fleet(store)
    fleet.hydrate()
    with store.read() as tx:
        bundle = resources.get(tx, BUNDLE)
        assert isinstance(bundle, Bundle)
        (one,) = preview(tx, bundle, fleet, fleet.scratch())
    assert (one.node, one.drawn) == ("a", ("a", "b"))
