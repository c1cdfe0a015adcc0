"""Amounts that are held for a time, and jobs that take them from a reservation: what the ledger lets in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from resources.allocation import Allocation
from resources.devices import Booking, Device
from resources.reference import Ref
from store import bookings, capacity_audit, changes, ledger, placement_log, resources, timed
from store.errors import Short
from store.store import Store
from store.tables import TIMED
from tests.builders import a_pool
from tests.clocked import Clocked

NOW = 1_000_000.0


@pytest.fixture(autouse=True)
def room(store: Store, clock: Clocked) -> None:
    clock.time = NOW
    store.write(lambda tx: resources.create(tx, Ref("pool", "p"), a_pool()))
    store.write(lambda tx: resources.create(tx, Ref("node", "n"), {"pool": "p"}))
    store.write(lambda tx: ledger.set_room(tx, "n", "p", {"vcpu": (4000, 4000)}))
    store.write(lambda tx: bookings.set_devices(tx, "n", (Device("gpu-0", "gpu"), Device("gpu-1", "gpu"))))


def a_booking(name: str, milli: int, start: float, end: float | None, *devices: str) -> Allocation:
    return Allocation(
        f"r-{name}.1.0", f"r-{name}", Ref("reservation", name, "default"), "0", "p", "n", milli,
        devices=tuple(map(Booking, devices)), starts_at=NOW + start, ends_at=None if end is None else NOW + end,
        holder="default/ch",
    )  # fmt: skip


def a_claim(name: str, milli: int, *devices: str, inside: str | None = None, end: float | None = None) -> Allocation:
    return Allocation(
        name, f"u-{name}", Ref("job", f"ch.primary.{name}", "default"), name, "p", "n", milli,
        devices=tuple(map(Booking, devices)), starts_at=NOW if devices or inside else None,
        ends_at=None if end is None else NOW + end, inside=inside,
    )  # fmt: skip


def let_in(store: Store, *claims: Allocation) -> str | None:
    """None, or what the guard said of the last one."""
    *before, last = claims
    for claim in before:
        store.write(lambda tx, claim=claim: ledger.reserve(tx, claim))
    try:
        store.write(lambda tx: ledger.reserve(tx, last))
    except Short as short:
        return short.reason
    return None


def promised(store: Store) -> tuple[int, int]:
    with store.read() as tx:
        assert [one for one in capacity_audit.audit(tx) if one.kind in ("ledger", "over")] == []
        return timed.promised(tx, "n")["vcpu"]


@pytest.mark.req("P65", "P118")
@pytest.mark.parametrize(
    ("window", "fits"),
    [((0, 100), True), ((200, 300), True), ((200, None), True), ((0, 100.5), False), ((199.5, 300), False),
     ((0, None), False), ((120, 130), False)],
)  # fmt: skip
def test_amounts_are_held_in_their_window_which_is_half_open(store: Store, window, fits: bool) -> None:
    said = let_in(store, a_booking("a", 3000, 100, 200), a_booking("b", 2000, *window))
    assert said == (None if fits else "vcpu on n ran out")


def test_a_job_counts_what_is_promised_at_any_time_from_now_on_once(store: Store) -> None:
    nights = [a_booking(f"night-{day}", 3000, day * 100, day * 100 + 50) for day in range(1, 8)]
    assert let_in(store, *nights, a_claim("a", 1000)) is None
    assert promised(store) == (4000, 4000)
    assert let_in(store, a_claim("b", 1)) == "vcpu on n ran out"
    store.write(lambda tx: ledger.release(tx, "a"))
    assert let_in(store, a_claim("b", 1001)) == "vcpu on n ran out"


def test_a_job_within_a_reservation_takes_nothing_beside_it(store: Store) -> None:
    night = a_booking("night", 4000, -10, 100, "gpu-0")
    assert let_in(store, night, a_claim("a", 3000, "gpu-0", inside="r-night", end=100)) is None
    assert promised(store) == (4000, 4000)
    assert let_in(store, a_claim("b", 1000, "gpu-0", inside="r-night", end=100)) == (
        "an atom on n was booked concurrently"
    )
    assert let_in(store, a_claim("c", 1)) == "vcpu on n ran out"
    assert let_in(store, a_booking("next", 4000, 100, None, "gpu-0")) is None


def test_what_it_takes_beyond_the_reservation_is_the_nodes(store: Store) -> None:
    cards = a_booking("night", 0, -10, 100, "gpu-0")
    assert let_in(store, cards, a_claim("a", 3000, "gpu-0", inside="r-night", end=100)) is None
    assert let_in(store, a_claim("b", 1001)) == "vcpu on n ran out"
    assert let_in(store, a_claim("b", 1000)) is None


def test_a_job_stays_for_its_time_when_its_reservation_goes(store: Store) -> None:
    night, job = a_booking("night", 4000, -10, 100, "gpu-0"), a_claim("a", 3000, "gpu-0", inside="r-night", end=100)
    let_in(store, night, job)
    store.write(lambda tx: ledger.release(tx, night.id))
    assert let_in(store, a_booking("b", 2000, 0, 50)) == "vcpu on n ran out"
    assert let_in(store, a_booking("b", 1000, 0, 50, "gpu-0")) == "an atom on n was booked concurrently"
    assert let_in(store, a_booking("b", 1000, 0, 50)) is None


def test_a_job_that_should_have_left_is_in_the_way_of_whoever_begins_now(store: Store, clock: Clocked) -> None:
    let_in(store, a_booking("night", 4000, -10, 100), a_claim("a", 3000, inside="r-night", end=100))
    store.write(lambda tx: ledger.release(tx, "r-night.1.0"))
    clock.time = NOW + 100
    assert let_in(store, a_claim("b", 2000)) == "vcpu on n ran out"
    assert let_in(store, a_booking("later", 4000, 101, None)) is None


@pytest.mark.parametrize(("milli", "until"), [(3000, 500), (2999, 100)])
def test_a_reservation_that_is_booked_anew_takes_its_jobs_along_if_it_holds_them(store: Store, milli, until) -> None:
    night, job = a_booking("night", 4000, -10, 100, "gpu-0"), a_claim("a", 3000, "gpu-0", inside="r-night", end=100)
    let_in(store, night, job)
    longer = replace(a_booking("night", milli, -10, 500, "gpu-0", "gpu-1"), id="r-night.2.0")

    def rebook(tx) -> None:
        ledger.release(tx, night.id)
        ledger.reserve(tx, longer)

    store.write(rebook)
    with store.read() as tx:
        found = ledger.find(tx, "a")
    assert found is not None
    assert found.ends_at == NOW + until
    promised(store)


def test_the_look_at_what_is_held_for_a_time_reads_no_other_claim(store: Store) -> None:
    with store.read() as tx:
        lines = tx.connection.exec_driver_sql(
            f"EXPLAIN QUERY PLAN SELECT uid FROM allocations WHERE node = 'n' AND ({TIMED})"  # noqa: S608
        ).all()
    assert "ix_allocations_timed" in str(lines)


def test_the_log_of_placements_tells_what_was_there_at_any_of_its_entries(store: Store) -> None:
    with store.read() as tx:
        first, before = placement_log.head(tx), bookings.devices_of(tx, "n")
    night = a_booking("night", 1000, 0, None, "gpu-0")
    store.write(lambda tx: ledger.reserve(tx, night))
    store.write(lambda tx: bookings.sicken(tx, "n", ["gpu-1"]))
    store.write(lambda tx: ledger.release(tx, night.id))
    store.write(lambda tx: bookings.set_devices(tx, "n", before[:1]))
    with store.read() as tx:
        devices = [placement_log.devices_at(tx, first + step).get("n", ()) for step in range(-1, 5)]
        claims = [placement_log.claims_at(tx, first + step) for step in range(5)]
    sick = (before[0], replace(before[1], healthy=False))
    assert devices == [(), before, before, sick, sick, before[:1]]
    assert claims == [(), (night,), (night,), (), ()]


def test_the_log_of_placements_keeps_what_the_log_of_changes_reaches(store: Store) -> None:
    claims = [a_claim(name, 100, "gpu-0") for name in ("a", "b")]
    store.write(lambda tx: ledger.reserve(tx, claims[0]))
    store.write(lambda tx: ledger.release(tx, "a"))
    store.write(lambda tx: ledger.reserve(tx, claims[1]))
    store.write(lambda tx: bookings.sicken(tx, "n", ["gpu-1"]))
    assert store.write(placement_log.compact) == 0
    store.write(lambda tx: resources.create(tx, Ref("node", "m"), {"pool": "p"}))
    store.write(lambda tx: changes.compact(tx, 1))
    assert store.write(placement_log.compact) == 3
    with store.read() as tx:
        now = placement_log.head(tx)
        assert placement_log.claims_at(tx, now) == (claims[1],)
        assert placement_log.devices_at(tx, now) == {"n": bookings.devices_of(tx, "n")}


@pytest.mark.parametrize(("later", "until"), [(1000, 500), (1001, 100)])
def test_what_its_jobs_take_beside_a_reservation_must_be_free_for_as_long(store: Store, later: int, until: int) -> None:
    """One of devices alone holds no vCPU, and every job needs some."""
    night, job = a_booking("night", 0, -10, 100, "gpu-0"), a_claim("a", 3000, "gpu-0", inside="r-night", end=100)
    let_in(store, night, job, a_booking("later", later, 200, 300))
    longer = replace(a_booking("night", 0, -10, 500, "gpu-0"), id="r-night.2.0")

    def rebook(tx) -> None:
        ledger.release(tx, night.id)
        ledger.reserve(tx, longer)

    store.write(rebook)
    with store.read() as tx:
        found = ledger.find(tx, "a")
        assert found is not None
        assert (found.ends_at, [one for one in capacity_audit.audit(tx) if one.kind != "idle"]) == (NOW + until, [])


def test_a_device_that_its_jobs_took_beside_a_reservation_must_be_free_for_as_long(store: Store) -> None:
    night, job = a_booking("night", 1000, -10, 100), a_claim("a", 500, "gpu-1", inside="r-night", end=100)
    let_in(store, night, job, a_booking("later", 0, 200, 300, "gpu-1"))
    longer = replace(a_booking("night", 1000, -10, 500), id="r-night.2.0")
    assert let_in(store, longer) is None
    with store.read() as tx:
        found = ledger.find(tx, "a")
    assert found is not None
    assert found.ends_at == NOW + 100
