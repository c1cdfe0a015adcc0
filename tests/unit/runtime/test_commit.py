"""Committing a decision: fenced by the claim, and finalizers held as long as an effect is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.runtime.commit import commit
from controllers.runtime.decision import Decision
from resources.effect import EFFECTS_FINALIZER, Effect
from resources.event import Event
from resources.job import JobStatus
from resources.pool import PoolStatus
from resources.reference import Ref
from resources.resource import Resource
from store import effects, events, queue, resources
from store.errors import ClaimLost
from store.queue import Claim
from store.store import Store
from tests.builders import POOL, a_job_entry, a_pool
from tests.clocked import Clocked

START = Effect("StartJob", "start/1/1", "agents", {"x": 1}, target="n")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path, Clocked())
    yield opened
    opened.close()


def claimed(store: Store) -> Claim:
    (claim,) = store.write(lambda tx: queue.claim(tx, limit=1, token=lambda: "token", backoff=lambda _: 1.0))
    return claim


def deleting(store: Store, *, finalizers: tuple[str, ...]) -> Resource[Any, Any]:
    """The pool under deletion, which these finalizers hold."""
    made = store.write(lambda tx: resources.create(tx, POOL, a_pool(), finalizers=finalizers))
    found = store.write(lambda tx: resources.request_deletion(tx, made))
    assert found is not None
    return found


def test_a_lost_claim_removes_nothing(store: Store) -> None:
    """The last pass over a key that is deleted is fenced like any other."""
    resource = deleting(store, finalizers=("hold",))
    claim = claimed(store)
    store.write(queue.expire_all)
    with pytest.raises(ClaimLost):
        store.write(lambda tx: commit(tx, claim, resource, Decision(PoolStatus(), finalizers=())))
    with store.read() as tx:
        assert resources.find(tx, POOL) is not None


def test_an_open_effect_holds_its_owner_although_the_decision_lets_go(store: Store) -> None:
    resource = deleting(store, finalizers=("hold", EFFECTS_FINALIZER))
    store.write(lambda tx: effects.record(tx, resource, START))
    claim = claimed(store)
    store.write(lambda tx: commit(tx, claim, resource, Decision(PoolStatus(), finalizers=())))
    with store.read() as tx:
        left = resources.find(tx, POOL)
    assert left is not None
    assert left.finalizers == (EFFECTS_FINALIZER,)


def test_a_status_names_the_event_of_the_decision_that_it_cites(store: Store) -> None:
    """Equal events are one row, so the same word said again is cited by the same id."""
    bundle = {"pool": "local", "bundle": "b", "role": "primary", "index": 0, **a_job_entry()}
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    ref = Ref("job", "b.primary.web", "default")
    store.write(lambda tx: resources.create(tx, ref, bundle))
    chosen = Event("PlacementDecision", "node-a of 2 nodes, tier local")
    cited = []
    for told in ((Event("JobUpdated", "x"), chosen), (chosen,)):
        with store.read() as tx:
            job = resources.get(tx, ref)
        store.write(lambda tx: queue.enqueue(tx, ref))
        claims = store.write(lambda tx: queue.claim(tx, limit=9, token=lambda: "token", backoff=lambda _: 1.0))
        claim = next(claim for claim in claims if claim.ref == ref)
        decision = Decision(JobStatus(), events=told, cite=chosen)
        store.write(lambda tx, c=claim, j=job, d=decision: commit(tx, c, j, d))
        with store.read() as tx:
            cited.append(resources.get(tx, ref).status.decision)
            found = next(one for one in events.list_for(tx, ref) if one.type == "PlacementDecision")
        assert cited[-1] == str(found.id)
    assert cited[0] == cited[1]
