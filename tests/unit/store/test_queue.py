"""The queue: one row a key, guarded claims, no wake lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select

from resources.reference import Ref
from store import queue
from store.errors import ClaimLost
from store.queue import Claim
from store.store import Store
from store.tables import queue as table
from tests.clocked import Clocked

KEY = Ref("pool", "local")


def enqueue(store: Store, ref: Ref = KEY, at: float | None = None) -> None:
    store.write(lambda tx: queue.enqueue(tx, ref, at))


def claim(store: Store, clock: Clocked, *, lease: float = 120.0, limit: int = 1) -> list[Claim]:
    return list(
        store.write(lambda tx: queue.claim(tx, limit=limit, token=clock.token, backoff=lambda n: 2.0**n, lease=lease))
    )


def row(store: Store):
    with store.read() as tx:
        return tx.execute(select(table)).one_or_none()


@pytest.mark.req("T16")
def test_ten_wakes_are_one_row(store: Store) -> None:
    for _ in range(10):
        enqueue(store)
    assert row(store).wakes == 10


@pytest.mark.req("T17")
def test_a_wake_takes_the_earlier_time_and_leaves_the_claim(store: Store, clock: Clocked) -> None:
    enqueue(store, at=1500.0)
    enqueue(store, at=1200.0)
    enqueue(store, at=1900.0)
    assert (row(store).available_at, row(store).wakes) == (1200.0, 3)
    clock.time = 1200.0
    claim(store, clock)
    before = row(store)
    enqueue(store)
    after = row(store)
    assert (after.token_hash, after.lease_generation, after.expires_at) == (
        before.token_hash,
        before.lease_generation,
        before.expires_at,
    )


@pytest.mark.req("T18")
def test_a_claim_stores_a_hash_an_expiry_and_the_wakes_it_saw(store: Store, clock: Clocked) -> None:
    enqueue(store)
    enqueue(store)
    (held,) = claim(store, clock)
    stored = row(store)
    assert (held.wakes, stored.claimed_wakes, stored.expires_at, stored.lease_generation) == (2, 2, 1120.0, 1)
    assert held.token not in str(stored)
    assert claim(store, clock) == []


@pytest.mark.req("T18")
def test_a_claim_that_expires_now_is_free_and_one_before_is_not(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    clock.time = 1119.999
    assert claim(store, clock) == []
    store.write(lambda tx: queue.hold(tx, held))
    clock.time = 1120.0
    with pytest.raises(ClaimLost):
        store.write(lambda tx: queue.hold(tx, held))


@pytest.mark.req("T18")
def test_the_lease_generation_rises_with_each_claim(store: Store, clock: Clocked) -> None:
    enqueue(store)
    generations = []
    for _ in range(3):
        (held,) = claim(store, clock)
        generations.append(held.lease_generation)
        store.write(lambda tx, held=held: queue.requeue(tx, held, 0.0))
    assert generations == [1, 2, 3]


@pytest.mark.req("T19", "CQ4")
@pytest.mark.parametrize(
    "write",
    [
        lambda tx, held: queue.settle(tx, held),
        lambda tx, held: queue.requeue(tx, held, 1.0),
        lambda tx, held: queue.fail(tx, held, 1.0),
        lambda tx, held: queue.rerun(tx, held, 1.0),
        lambda tx, held: queue.release(tx, held),
    ],
)
def test_a_lost_claim_writes_nothing(store: Store, clock: Clocked, write: Callable[..., None]) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    clock.time = 1120.0
    before = row(store)
    with pytest.raises(ClaimLost):
        store.write(lambda tx: write(tx, held))
    assert row(store) == before


@pytest.mark.req("T19", "T23")
def test_the_next_claimer_of_an_expired_row_writes_its_error_and_backoff(store: Store, clock: Clocked) -> None:
    enqueue(store)
    claim(store, clock)
    clock.time = 1120.0
    assert claim(store, clock) == []
    stored = row(store)
    assert (stored.errors, stored.available_at, stored.token_hash) == (1, 1122.0, None)
    clock.time = 1122.0
    assert [held.errors for held in claim(store, clock)] == [1]


@pytest.mark.req("T20", "CQ6")
def test_an_expired_claim_cannot_be_renewed(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    clock.time = 1100.0
    store.write(lambda tx: queue.renew(tx, held))
    assert row(store).expires_at == 1220.0
    clock.time = 1220.0
    with pytest.raises(ClaimLost):
        store.write(lambda tx: queue.renew(tx, held))


@pytest.mark.req("T21", "CQ6")
def test_settling_deletes_the_row(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    store.write(lambda tx: queue.settle(tx, held))
    assert row(store) is None


@pytest.mark.req("T21")
def test_a_wake_during_a_pass_survives_its_settle(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    clock.time = 1001.0
    enqueue(store)
    store.write(lambda tx: queue.settle(tx, held))
    assert (row(store).available_at, row(store).token_hash) == (1001.0, None)


@pytest.mark.req("T22")
def test_a_wake_during_a_pass_beats_the_delay_of_the_pass(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    store.write(lambda tx: queue.requeue(tx, held, 60.0))
    assert row(store).available_at == 1060.0
    clock.time = 1060.0
    (held,) = claim(store, clock)
    enqueue(store)
    store.write(lambda tx: queue.requeue(tx, held, 60.0))
    assert row(store).available_at == 1060.0


@pytest.mark.req("T23", "CQ6")
def test_errors_count_up_and_a_good_result_clears_them(store: Store, clock: Clocked) -> None:
    enqueue(store)
    counted = []
    for _ in range(3):
        (held,) = claim(store, clock)
        store.write(lambda tx, held=held: queue.fail(tx, held, 10.0))
        counted.append(row(store).errors)
        clock.time += 10.0
    (held,) = claim(store, clock)
    store.write(lambda tx: queue.requeue(tx, held, 0.0))
    assert (counted, row(store).errors) == ([1, 2, 3], 0)


@pytest.mark.req("T23")
def test_a_clean_stop_counts_nothing(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    store.write(lambda tx: queue.release(tx, held))
    assert (row(store).errors, row(store).available_at, row(store).token_hash) == (0, 1000.0, None)


@pytest.mark.req("T24")
def test_five_conflicts_rerun_at_once_and_each_from_the_sixth_on_backs_off(store: Store, clock: Clocked) -> None:
    """Until a pass ends well: then five are free again."""
    enqueue(store)
    due = []

    def conflict() -> None:
        (held,) = claim(store, clock)
        store.write(lambda tx: queue.rerun(tx, held, 4.0))
        due.append(row(store).available_at - clock.time)
        clock.time = row(store).available_at

    for _ in range(8):
        conflict()
    assert (due, row(store).errors) == ([0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0], 3)
    (held,) = claim(store, clock)
    store.write(lambda tx: queue.requeue(tx, held, 0.0))
    conflict()
    assert due[-1] == 0.0


@pytest.mark.req("T25")
def test_an_event_pulls_a_backoff_forward_but_not_under_a_second(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    store.write(lambda tx: queue.fail(tx, held, 60.0))
    clock.time = 1000.2
    enqueue(store)
    assert row(store).available_at == 1001.0
    clock.time = 1030.0
    enqueue(store)
    assert row(store).available_at == 1001.0


@pytest.mark.req("T25")
@pytest.mark.parametrize("woken", [False, True])
def test_a_failing_key_waits_for_a_second_at_least(store: Store, clock: Clocked, woken: bool) -> None:
    """Also where the draw of its first backoff is shorter than that."""
    enqueue(store)
    (held,) = claim(store, clock)
    if woken:
        enqueue(store)
    store.write(lambda tx: queue.fail(tx, held, 0.8))
    enqueue(store)
    assert row(store).available_at == clock.time + queue.FAILING_SECONDS


@pytest.mark.req("CQ3")
def test_a_lease_under_three_tenths_is_refused(store: Store, clock: Clocked) -> None:
    for lease, limit in ((0.0, 1), (0.29, 1), (120.0, 0)):
        with pytest.raises(ValueError, match="lease"):
            claim(store, clock, lease=lease, limit=limit)


def test_the_oldest_due_key_is_served_first(store: Store, clock: Clocked) -> None:
    for name, at in (("c", 900.0), ("a", 950.0), ("b", 800.0), ("later", 2000.0)):
        enqueue(store, Ref("pool", name), at)
    assert [held.ref.name for held in claim(store, clock, limit=10)] == ["b", "c", "a"]


@pytest.mark.req("T21")
def test_the_four_steps_of_a_lost_wake(store: Store, clock: Clocked) -> None:
    """Woken, claimed, woken again, settled: the second wake is due though the pass that settles never saw it."""
    enqueue(store)
    (held,) = claim(store, clock)
    enqueue(store)
    store.write(lambda tx: queue.settle(tx, held))
    assert (row(store).available_at, row(store).token_hash) == (clock.time, None)
    (again,) = claim(store, clock)
    store.write(lambda tx: queue.settle(tx, again))
    assert row(store) is None


@pytest.mark.req("T25")
def test_an_event_before_a_lease_ran_out_is_not_put_off_by_the_backoff(store: Store, clock: Clocked) -> None:
    enqueue(store)
    (held,) = claim(store, clock)
    enqueue(store)
    clock.time = held.expires_at
    claim(store, clock)
    assert (row(store).errors, row(store).available_at) == (1, clock.time + queue.FAILING_SECONDS)
