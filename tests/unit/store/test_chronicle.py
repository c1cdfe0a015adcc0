"""What every resource and every effect goes through is told by events, and what writes nothing tells nothing."""

from __future__ import annotations

import pytest

from resources.effect import Deferred, Effect
from resources.reference import Ref
from store import effects, events, resources
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

START = Effect("StartJob", "start/1/1", "agents", {"x": 1}, target="node-a")


def told(store: Store, uid: str) -> list[tuple[str, str]]:
    """Oldest first."""
    with store.read() as tx:
        return [(one.type, one.message) for one in reversed(events.list_for(tx, uid=uid))]


@pytest.mark.req("T3", "T55")
def test_a_life_is_told_from_its_beginning_to_its_end(store: Store, clock: Clocked) -> None:
    """An equal spec, another label and a second request for deletion are no news."""
    made = store.write(lambda tx: resources.create(tx, POOL, a_pool(), finalizers=("test/cleanup",)))
    for write in (
        lambda tx, found: resources.replace(tx, found, document=a_pool()),
        lambda tx, found: resources.replace(tx, found, labels={"a": "b"}),
        lambda tx, found: resources.replace(tx, found, document=a_pool(maxRestartsPerHour=1)),
        resources.request_deletion,
        resources.request_deletion,
        resources.strip,
    ):
        clock.time += 1
        store.write(lambda tx, write=write: write(tx, resources.get(tx, POOL)))
    assert told(store, made.uid) == [
        ("ResourceCreated", "created"),
        ("SpecChanged", "generation 2"),
        ("DeletionRequested", "its deletion was asked for"),
        ("ResourceDeleted", "gone"),
    ]


@pytest.mark.req("T55")
def test_a_removal_by_force_is_told_as_any_other(store: Store) -> None:
    made = store.write(lambda tx: resources.create(tx, POOL, a_pool(), finalizers=("test/cleanup",)))
    store.write(lambda tx: resources.strip(tx, made))
    assert [type_ for type_, _ in told(store, made.uid)] == ["ResourceCreated", "DeletionRequested", "ResourceDeleted"]


@pytest.mark.req("T32", "T55")
def test_an_effect_is_told_once_however_often_it_is_wanted(store: Store, clock: Clocked) -> None:
    owner = store.write(lambda tx: resources.create(tx, Ref("pool", "p"), a_pool()))
    for _ in range(3):
        store.write(lambda tx: effects.record(tx, owner, START))
    (claim,) = store.write(lambda tx: effects.claim(tx, "agents", limit=5, token=clock.token))
    store.write(lambda tx: effects.answer(tx, claim, Deferred("throttled", 1.0)))
    assert told(store, owner.uid)[1:] == [("EffectPending", "StartJob start/1/1 on node-a")]
