"""Bookings of devices: guards that answer short one by one, windows that are half open, sums that hold."""

from __future__ import annotations

import pytest

from resources.allocation import Allocation
from resources.devices import Booking, Device
from resources.reference import Ref
from store import bookings, ledger
from store.errors import Short
from store.store import Store

CARDS = tuple(Device(f"gpu-{n}", "gpu", {"gpuModel": "H100"}, links={"gpu-0": "NV"} if n else {}) for n in range(3))


def booked(id_: str, *devices: str, units: int = 1000, window=(100.0, None), **more) -> Allocation:
    start, end = window
    values = {"capacity_milli": 0, "starts_at": start, "ends_at": end, **more}
    atoms = tuple(Booking(device, units) for device in devices)
    return Allocation(
        id_, f"uid-{id_}", Ref("job", f"b.primary.{id_}", "default"), id_, "p", "n", devices=atoms, **values
    )


@pytest.fixture(autouse=True)
def room(store: Store) -> None:
    store.write(lambda tx: ledger.set_room(tx, "n", "p", {"vcpu": (4000, 2000)}))
    store.write(lambda tx: bookings.set_devices(tx, "n", CARDS))


def reserve(store: Store, allocation: Allocation) -> None:
    store.write(lambda tx: ledger.reserve(tx, allocation))


def state(store: Store):
    with store.read() as tx:
        return ledger.list_allocations(tx), bookings.all_bookings(tx), ledger.room(tx, "n"), ledger.rollup(tx, "p")


def test_what_a_node_has_reads_back_in_its_order(store: Store) -> None:
    with store.read() as tx:
        assert bookings.devices_of(tx, "n") == CARDS
        assert bookings.all_devices(tx) == {"n": CARDS}
    store.write(lambda tx: bookings.set_devices(tx, "n", CARDS[::-1][:2]))
    with store.read() as tx:
        assert bookings.devices_of(tx, "n") == CARDS[::-1][:2]


@pytest.mark.req("P117", "P122", "P119", "PA28")
def test_an_atom_is_booked_once_and_nothing_of_the_failed_claim_remains(store: Store) -> None:
    reserve(store, booked("a", "gpu-1"))
    before = state(store)
    with pytest.raises(Short, match=r"^an atom on n was booked concurrently$"):
        reserve(store, booked("b", "gpu-0", "gpu-1", capacity_milli=100))
    assert state(store) == before


@pytest.mark.req("P116", "P121", "P119")
@pytest.mark.parametrize("trouble", ["sick", "unbookable", "gone"])
def test_an_atom_must_be_well_and_bookable_at_the_commit(store: Store, trouble: str) -> None:
    match trouble:
        case "sick":
            store.write(lambda tx: bookings.sicken(tx, "n", ["gpu-1"]))
        case "unbookable":
            closed = (CARDS[0], Device("gpu-1", "gpu", bookable=False), CARDS[2])
            store.write(lambda tx: bookings.set_devices(tx, "n", closed))
        case _:
            store.write(lambda tx: bookings.set_devices(tx, "n", (CARDS[0], CARDS[2])))
    before = state(store)
    with pytest.raises(Short, match=r"^an atom on n turned unhealthy or unbookable$"):
        reserve(store, booked("a", "gpu-0", "gpu-1"))
    assert state(store) == before
    reserve(store, booked("b", "gpu-0", "gpu-2"))


@pytest.mark.req("F208", "F207")
def test_shares_of_one_card_add_up_to_no_more_than_the_card(store: Store) -> None:
    reserve(store, booked("a", "gpu-0", units=600))
    with pytest.raises(Short, match="booked concurrently"):
        reserve(store, booked("b", "gpu-0", units=600))
    reserve(store, booked("c", "gpu-0", units=400))


@pytest.mark.req("P65", "PA29")
@pytest.mark.parametrize(
    ("window", "free"),
    [
        ((100.0, 200.0), True),
        ((300.0, 400.0), True),
        ((300.0, None), True),
        ((100.0, 200.5), False),
        ((299.5, 300.0), False),
        ((100.0, None), False),
        ((220.0, 230.0), False),
    ],
)
def test_a_window_is_half_open(store: Store, window, free) -> None:
    reserve(store, booked("a", "gpu-0", window=(200.0, 300.0)))
    if free:
        reserve(store, booked("b", "gpu-0", window=window))
    else:
        with pytest.raises(Short, match="booked concurrently"):
            reserve(store, booked("b", "gpu-0", window=window))


@pytest.mark.req("P22")
def test_each_guard_stands_on_its_own(store: Store) -> None:
    """Node, atoms, bookings and amounts: one sabotaged at a time, each with its own reason."""
    wanted = booked("a", "gpu-0", capacity_milli=1500)
    reasons = []
    for sabotage, mend in (
        (lambda tx: ledger.block(tx, "n", "cordoned"), lambda tx: ledger.unblock(tx, "n", "cordoned")),
        (lambda tx: bookings.sicken(tx, "n", ["gpu-0"]), lambda tx: bookings.set_devices(tx, "n", CARDS)),
        (lambda tx: ledger.reserve(tx, booked("x", "gpu-0")), lambda tx: ledger.release(tx, "x")),
        (lambda tx: ledger.reserve(tx, booked("y", capacity_milli=600)), lambda tx: ledger.release(tx, "y")),
    ):
        store.write(sabotage)
        with pytest.raises(Short) as short:
            reserve(store, wanted)
        reasons.append(short.value.reason)
        store.write(mend)
    assert reasons == [
        "n is no longer schedulable",
        "an atom on n turned unhealthy or unbookable",
        "an atom on n was booked concurrently",
        "vcpu on n ran out",
    ]
    reserve(store, wanted)


def test_a_release_gives_the_atoms_back(store: Store) -> None:
    empty = state(store)
    reserve(store, booked("a", "gpu-0", "gpu-1", capacity_milli=100))
    store.write(lambda tx: ledger.release(tx, "a"))
    assert state(store) == empty
    reserve(store, booked("b", "gpu-0"))


def test_the_same_claim_again_books_nothing_twice(store: Store) -> None:
    reserve(store, booked("a", "gpu-0", units=500))
    before = state(store)
    reserve(store, booked("a", "gpu-0", units=500))
    assert state(store) == before
