"""The ledger added up again, held against what runs, and put right."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from resources.allocation import Allocation
from resources.devices import Booking, Device
from resources.facts import Instance, Inventory, NodeFacts
from resources.reference import Ref
from store import backlog, bookings, capacity_audit, holds, ledger, nodes, queue, resources
from store.store import Store
from store.tables import device_bookings, node_scalars, pool_rollup, port_claims
from tests.builders import a_job_spec, a_pool

ROOM = {"vcpu": (4000, 4000), "cores": (4, 4), "memory": (1000, 1000)}
HELD = Allocation("a1", "u1", Ref("job", "b.primary.j", "default"), "i1", "p", "n", 1500, 1, 100, ("80/tcp",))
RUNS = Instance("u1", "i1", "primary", "n", 1, "ready", pid=7, job="b.primary.j")


@pytest.fixture
def full(store: Store) -> Store:
    """One node with one claim, and the instance that it is for."""

    def write(tx: Any) -> None:
        resources.create(tx, Ref("pool", "p"), a_pool())
        resources.create(tx, Ref("node", "n"), {"pool": "p"})
        ledger.set_room(tx, "n", "p", ROOM)
        ledger.reserve(tx, HELD)
        nodes.put_facts(tx, NodeFacts("n", "boot", Inventory(4000, 4), tx.now, connected=True))
        nodes.put_instance(tx, RUNS)

    store.write(write)
    return store


def found(store: Store, *strays: Instance) -> list[tuple[str, str, str]]:
    with store.read() as tx:
        return [(one.kind, one.node, one.message) for one in capacity_audit.audit(tx, strays)]


def test_what_runs_without_an_owner_is_named_with_whose_it_was(full: Store) -> None:
    stray = Instance("u9", "i9", "primary", "n", 1, "running", pid=9, job="old.primary.j")
    assert found(full, stray) == [("unowned", "n", "job/old/primary/j runs as i9, pid 9: unowned, was u9")]


def test_what_runs_without_room_and_room_without_what_runs(full: Store) -> None:
    job = a_job_spec("j", pool="p")

    def write(tx: Any) -> None:
        made = resources.create(tx, Ref("job", "b.primary.j", "default"), job)
        nodes.put_instance(tx, Instance(made.uid, "i2", "primary", "n", 2, "ready", pid=8, job="b.primary.j"))
        nodes.put_instance(tx, Instance("u1", "i1", "primary", "n", 1, "exited", job="b.primary.j"))

    full.write(write)
    assert found(full) == [
        ("idle", "n", "room is held for job/b/primary/j, which does not run there"),
        ("unclaimed", "n", "job/b/primary/j runs as i2, pid 8, and no room is claimed for it"),
    ]


def test_wrong_sums_are_told_and_put_right_and_no_claim_is_touched(full: Store) -> None:
    def spoil(tx: Any) -> None:
        tx.write(update(node_scalars).where(node_scalars.c.resource == "vcpu").values(allocated=9000))
        tx.write(update(pool_rollup).values(allocated=1))
        tx.write(update(port_claims).values(allocation="gone"))

    full.write(lambda tx: nodes.put_instance(tx, RUNS))
    before = found(full)
    full.write(spoil)
    kinds = {kind for kind, _, _ in found(full)}
    assert kinds >= {"ledger", "over"}
    assert full.write(capacity_audit.repair) >= 3
    assert found(full) == before
    assert full.write(capacity_audit.repair) == 0
    with full.read() as tx:
        assert ledger.list_allocations(tx) == (HELD,)
        assert ledger.rollup(tx, "p")["vcpu"] == (4000, 1500)


def test_a_hold_keeps_its_time_and_is_lifted_once(store: Store) -> None:
    first = store.write(lambda tx: holds.put(tx, "a storm", "ana"))
    again = store.write(lambda tx: holds.put(tx, "a flood", "ben"))
    assert (again.since, again.reason, again.by) == (first.since, "a flood", "ben")
    assert [store.write(holds.lift) for _ in range(2)] == [True, False]


@pytest.mark.req("T28")
def test_a_rebuilt_queue_holds_every_resource_and_nothing_else(full: Store) -> None:
    full.write(lambda tx: queue.enqueue(tx, Ref("bundle", "gone", "default")))
    full.write(lambda tx: queue.remove(tx, Ref("pool", "p")))
    assert full.write(backlog.rebuild) == (2, 1)
    with full.read() as tx:
        rows = queue.list_all(tx)
    assert {(row.kind, row.name) for row in rows} == {("pool", "p"), ("node", "n")}
    assert all(row.available_at <= tx.now for row in rows)


def test_bookings_of_devices_are_held_against_the_claims_and_written_anew(full: Store) -> None:
    gpu = Device("gpu-0", "gpu")
    held = Allocation("a2", "u2", HELD.owner, "i2", "p", "n", 0, devices=(Booking("gpu-0", 400),), starts_at=5.0)

    def spoil(tx: Any) -> None:
        bookings.set_devices(tx, "n", (gpu,))
        ledger.reserve(tx, held)
        tx.write(update(device_bookings).values(units=300, allocation="gone"))

    full.write(spoil)
    assert [message for kind, _, message in found(full) if kind == "ledger"] == [
        "gpu-0: 300 thousandths booked by gone, which holds no such part",
        "gpu-0: 400 thousandths of a2 are not booked",
    ]
    assert full.write(capacity_audit.repair) == 2
    assert [one for one in found(full) if one[0] == "ledger"] == []
