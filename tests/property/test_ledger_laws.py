"""Laws of the ledger over random writes: the view follows it, and its sums are those of its allocations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controllers.runtime.fleet import Fleet
from placement import Amounts, Request
from resources.allocation import Allocation
from resources.devices import WHOLE, Booking, Device
from resources.reference import Ref
from store import bookings, capacity_audit, ledger, resources, timed
from store.errors import Short
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

NODES = ("n1", "n2")
IDS = tuple(f"a{n}" for n in range(6))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    clock = Clocked()
    clock.time = 120.0
    opened = Store.open(Path(tmp_path_factory.mktemp("ledger")), clock)
    opened.write(lambda tx: resources.create(tx, POOL, a_pool()))
    for node in NODES:
        opened.write(lambda tx, node=node: resources.create(tx, Ref("node", node), {"pool": "local"}))
    yield opened
    opened.close()


def an_allocation(draw: Random) -> Allocation:
    start = draw.choice((None, 100.0, 200.0))
    atoms = draw.sample(range(3), draw.choice((0, 1, 1, 2)))
    name = draw.choice(IDS)
    kind = draw.choice(("job", "reservation"))
    return Allocation(
        id=name,
        uid=name,
        owner=Ref(kind, f"b.primary.{name}", "default"),
        inside=draw.choice((None, *IDS)) if kind == "job" else None,
        instance=name,
        pool="local",
        node=draw.choice(NODES),
        capacity_milli=draw.choice((0, 500, 1000, 1500)),
        cores=draw.choice((0, 1)),
        ports=draw.choice(((), (), ("80/tcp",))),
        devices=tuple(Booking(f"gpu-{at}", draw.choice((WHOLE, 400))) for at in atoms),
        starts_at=start or 50.0,
        ends_at=draw.choice((None, 150.0, 250.0)) if start != 200.0 else draw.choice((None, 250.0)),
    )


def write(draw: Random, store: Store) -> None:
    node = draw.choice(NODES)
    cards = tuple(
        Device(f"gpu-{at}", "gpu", healthy=draw.random() < 0.8, bookable=draw.random() < 0.9)
        for at in range(draw.choice((0, 2, 3)))
    )
    room = {"vcpu": (4000, draw.choice((2000, 3000))), "cores": (2, 2)}
    allocation = an_allocation(draw)
    change = draw.choice(
        (
            lambda tx: ledger.reserve(tx, allocation),
            lambda tx: ledger.reserve(tx, allocation),
            lambda tx: ledger.reserve(tx, allocation),
            lambda tx: ledger.release(tx, draw.choice(IDS)),
            lambda tx: bookings.set_devices(tx, node, cards),
            lambda tx: bookings.sicken(tx, node, ["gpu-0"]),
            lambda tx: ledger.set_room(tx, node, "local", room),
            lambda tx: ledger.block(tx, node, "cordoned"),
            lambda tx: ledger.unblock(tx, node, "cordoned"),
        )
    )
    try:
        store.write(change)
    except Short:
        return


def beginning(now: float) -> Request:
    """A job, as far as what is in its way goes."""
    return Request(
        owner="default/o.primary.a", pool="local", bundle="o", role="primary", job="a", amounts=Amounts(1), start=now
    )


@pytest.mark.req("P130", "P119")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32))
def test_the_view_follows_the_ledger_and_its_sums_hold(store: Store, seed: int) -> None:
    draw = Random(seed)
    fleet = Fleet(store)
    fleet.hydrate()
    for _ in range(20):
        write(draw, store)
    rebuilt = Fleet(store)
    rebuilt.hydrate()
    assert fleet.view == rebuilt.view
    with store.read() as tx:
        for node in NODES:
            seen = fleet.view.node(node)
            assert seen is not None
            promised = {name: most for name, (_, most) in timed.promised(tx, node).items()}
            assert seen.over(beginning(tx.now)).used[:2] == (promised.get("vcpu", 0), promised.get("cores", 0))
        assert [one for one in capacity_audit.audit(tx) if one.kind == "ledger"] == []
        claimed = ledger.list_allocations(tx)
        booked = {(node, device, name, units) for node, device, name, units in bookings.all_bookings(tx)}
    assert booked == {(a.node, b.device, a.id, b.units) for a in claimed for b in a.devices}
    assert not overbooked([a for a in claimed if a.inside is None])


def overbooked(claimed: list[Allocation]) -> list[tuple[str, str, float]]:
    """At the begin of some booking, the units that overlap there; where any is too much, one of these is."""
    begins = {a.starts_at for a in claimed if a.devices}
    found = []
    for at in begins:
        units: Counter[tuple[str, str]] = Counter()
        for a in claimed:
            if a.starts_at is not None and at is not None and a.starts_at <= at < (a.ends_at or 1e18):
                for booking in a.devices:
                    units[a.node, booking.device] += booking.units
        found += [(node, device, at) for (node, device), sum_ in units.items() if sum_ > WHOLE]
    return found
