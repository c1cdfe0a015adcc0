"""Effects: recorded before, claimed once, final when answered."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from resources.effect import Applied, Deferred, Effect, Rejected, Unknown
from resources.resource import Resource
from store import effects, resources
from store.effects import EffectClaim
from store.errors import ClaimLost, EffectMismatch
from store.queue import hashed
from store.store import Store
from store.tables import effects as table
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

START = Effect("StartJob", "start/1/1", "agents", {"command": ["sleep"]}, target="node-a")


@pytest.fixture
def owner(store: Store) -> Resource:
    return store.write(lambda tx: resources.create(tx, POOL, a_pool()))


def record(store: Store, owner: Resource, effect: Effect = START):
    return store.write(lambda tx: effects.record(tx, owner, effect))


def claim(store: Store, clock: Clocked) -> list[EffectClaim]:
    return list(store.write(lambda tx: effects.claim(tx, "agents", limit=5, token=clock.token)))


def found(store: Store, owner: Resource, key: str = "start/1/1"):
    with store.read() as tx:
        return effects.find(tx, owner.uid, key)


@pytest.mark.req("T30", "CF1")
def test_the_record_is_pending_and_complete_before_anyone_can_claim_it(store: Store, owner: Resource) -> None:
    made = record(store, owner)
    assert (
        made.state,
        made.kind,
        made.generation,
        made.fingerprint,
        made.request,
        made.attempts,
        made.external_ref,
    ) == (
        "pending",
        "StartJob",
        1,
        START.fingerprint,
        {"command": ["sleep"]},
        0,
        None,
    )
    assert (made.created_at, made.started_at, made.completed_at) == (1000.0, None, None)


@pytest.mark.req("T31")
@pytest.mark.parametrize(
    "other",
    [
        Effect("StartJob", "start/1/1", "agents", {"command": ["other"]}, target="node-a"),
        Effect("StopJob", "start/1/1", "agents", {"command": ["sleep"]}, target="node-a"),
    ],
)
def test_one_key_stands_for_one_request(store: Store, owner: Resource, other: Effect) -> None:
    made = record(store, owner)
    with pytest.raises(EffectMismatch, match=r"start/1/1: recorded with StartJob .*, asked with "):
        record(store, owner, other)
    assert found(store, owner) == made


@pytest.mark.req("T32")
def test_the_same_request_of_a_later_generation_is_the_same_record(store: Store, owner: Resource) -> None:
    made = record(store, owner)
    later = store.write(lambda tx: resources.replace(tx, owner, document=a_pool(maxRestartsPerHour=1)))
    assert record(store, later) == made


@pytest.mark.req("T33")
def test_each_claim_counts_an_attempt_and_excludes_others(store: Store, owner: Resource, clock: Clocked) -> None:
    record(store, owner)
    (first,) = claim(store, clock)
    assert (first.record.attempts, claim(store, clock)) == (1, [])
    clock.time += effects.LEASE_SECONDS
    (second,) = claim(store, clock)
    assert second.record.attempts == 2
    with pytest.raises(ClaimLost):
        store.write(lambda tx: effects.answer(tx, first, Applied("x")))


@pytest.mark.req("T35")
@pytest.mark.parametrize(
    ("answer", "state", "ref", "error"),
    [
        (Applied("i-1"), "applied", "i-1", None),
        (Rejected("no room", "JOB_REJECTED_NO_CAPACITY"), "rejected", None, "no room"),
        (Deferred("throttled", 7.0), "pending", None, "throttled"),
        (Unknown("timed out"), "indeterminate", None, "timed out"),
    ],
)
def test_answers_become_states(store, owner, clock, answer, state, ref, error) -> None:
    record(store, owner)
    (held,) = claim(store, clock)
    stored = store.write(lambda tx: effects.answer(tx, held, answer))
    assert (stored.state, stored.external_ref, stored.error) == (state, ref, error)


@pytest.mark.req("T35")
def test_a_deferred_effect_waits_as_long_as_it_was_told(store: Store, owner: Resource, clock: Clocked) -> None:
    record(store, owner)
    (held,) = claim(store, clock)
    store.write(lambda tx: effects.answer(tx, held, Deferred("throttled", 7.0)))
    clock.time += 6.9
    assert claim(store, clock) == []
    clock.time += 0.2
    assert len(claim(store, clock)) == 1


@pytest.mark.req("T36", "CF4")
@pytest.mark.parametrize("final", [Applied("i-1"), Rejected("no")])
def test_final_states_never_change(store, owner, clock, final) -> None:
    record(store, owner)
    (held,) = claim(store, clock)
    stored = store.write(lambda tx: effects.answer(tx, held, final))
    for other in (Applied("i-2"), Rejected("late"), Unknown("late"), Deferred("late", 1.0)):
        with pytest.raises(ClaimLost):
            store.write(lambda tx, other=other: effects.answer(tx, held, other))
    clock.time += 10_000
    assert (found(store, owner), claim(store, clock)) == (stored, [])


@pytest.mark.req("T36")
@pytest.mark.parametrize("final", [Applied("i-1"), Rejected("no")])
def test_a_final_state_stands_even_where_a_claim_would_allow_the_write(store, owner, clock, final) -> None:
    """The statement that writes looks at the state, and not at the claim alone."""
    record(store, owner)
    (held,) = claim(store, clock)
    stored = store.write(lambda tx: effects.answer(tx, held, final))
    claimed = {"token_hash": hashed(held.token), "expires_at": clock.time + 100.0}
    store.write(lambda tx: tx.write(update(table).values(**claimed)))
    with pytest.raises(ClaimLost):
        store.write(lambda tx: effects.answer(tx, held, Applied("other")))
    with pytest.raises(ClaimLost):
        store.write(lambda tx: effects.let_go(tx, held, 1.0))
    store.write(lambda tx: effects.unwant(tx, owner.uid, "start/1/1"))
    store.write(lambda tx: effects.hurry(tx, "node-a"))
    assert found(store, owner) == stored


def test_an_error_text_is_bounded(store: Store, owner: Resource, clock: Clocked) -> None:
    record(store, owner)
    (held,) = claim(store, clock)
    stored = store.write(lambda tx: effects.answer(tx, held, Rejected("x" * 9000)))
    assert (len(stored.error), stored.error[-1]) == (8193, "…")
