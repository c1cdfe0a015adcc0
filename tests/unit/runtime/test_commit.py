"""Committing a decision: fenced by the claim, and finalizers held as long as an effect is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.runtime.commit import commit
from controllers.runtime.decision import Decision
from resources.effect import EFFECTS_FINALIZER, Effect
from resources.pool import PoolStatus
from resources.resource import Resource
from store import effects, queue, resources
from store.errors import ClaimLost
from store.queue import Claim
from store.store import Store
from tests.builders import POOL, a_pool
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
