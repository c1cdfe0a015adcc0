"""Where jobs would go: a dropped one stays down, until its bundle changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from controllers.expansion import expand
from controllers.preview import preview
from controllers.runtime.fleet import Fleet
from resources.bundle import Bundle
from resources.job import JobStatus
from resources.reference import Ref
from store import resources
from store.store import Store
from tests.builders import POOL, a_bundle, a_job_entry, a_pool
from tests.clocked import Clocked

BUNDLE = Ref("bundle", "ch", "default")


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
            return [one.answer for one in preview(tx, bundle, fleet)]

    assert answers() == ["dropped"]
    other = a_bundle(a_job_entry("web"), a_job_entry("more"), pool=POOL.name)
    store.write(lambda tx: resources.replace(tx, resources.get(tx, BUNDLE), document=other))
    assert answers() == ["unschedulable"] * 2, "its pool has no node"
