"""The capacity audit: the ledger added up again, and held against what agents say that they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.sqlite import insert

from resources.canonical import Document
from resources.facts import Instance
from resources.names import shown
from store import bookings, ledger, nodes, resources, timed
from store.effects import OPEN
from store.tables import effects, node_scalars, pool_rollup, port_claims
from store.tables import resources as resources_table
from store.tx import Tx

KEEPS_ROOM = ("backoff", "scheduled")


@dataclass(frozen=True)
class Finding:
    """`kind`: ledger (its sums are wrong), over (more claimed than there is), unowned (runs, and nothing asked for it),
    unclaimed (runs without room of its own), idle (room for something that does not run)."""

    kind: str
    node: str
    message: str

    def document(self) -> Document:
        return {"kind": self.kind, "node": self.node, "message": self.message}


def audit(tx: Tx, strays: Iterable[Instance] = ()) -> tuple[Finding, ...]:
    """Everything that does not agree, by kind and node. `strays` are instances that nodes told of and nobody knows."""
    found = [*_sums(tx), *_over(tx), *_instances(tx, strays), *_idle(tx)]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (one.kind, one.node, one.message)))


def repair(tx: Tx) -> int:
    """Writes the sums anew from the allocations; how many were wrong. No allocation is touched."""
    wrong = list(_sums(tx))
    if not wrong:
        return 0
    claimed = _claimed(tx)
    for row in tx.execute(select(node_scalars)).all():
        true = claimed.get((row.node, row.resource), 0)
        if row.allocated != true:
            here = (node_scalars.c.node == row.node, node_scalars.c.resource == row.resource)
            tx.write(update(node_scalars).where(*here).values(allocated=true))
    known = {allocation.id: allocation for allocation in ledger.list_allocations(tx)}
    tx.write(delete(port_claims).where(port_claims.c.allocation.not_in(list(known))))
    for allocation in known.values():
        for port in allocation.ports:
            row = {"node": allocation.node, "port": port, "allocation": allocation.id}
            tx.write(insert(port_claims).values(**row).on_conflict_do_nothing())
    bookings.rebook(tx, known.values())
    tx.write(delete(pool_rollup))
    for (pool, resource), (capacity, allocated) in sorted(_rolled(tx).items()):
        values = {"pool": pool, "resource": resource, "capacity": capacity, "allocated": allocated}
        tx.write(insert(pool_rollup).values(**values))
    return len(wrong)


def _claimed(tx: Tx) -> Counter[tuple[str, str]]:
    """(node, resource) to what its allocations add up to."""
    sums: Counter[tuple[str, str]] = Counter()
    for allocation in ledger.list_allocations(tx):
        for resource, amount in ledger.scalars(allocation):
            sums[allocation.node, resource] += amount
    return sums


def _sums(tx: Tx) -> Iterator[Finding]:
    claimed = _claimed(tx)
    for row in tx.execute(select(node_scalars)).all():
        true = claimed.pop((row.node, row.resource), 0)
        if row.allocated != true:
            yield Finding("ledger", row.node, f"{row.resource}: {row.allocated} on record, {true} by its allocations")
    for (node, resource), amount in claimed.items():
        if amount:
            yield Finding("ledger", node, f"{resource}: {amount} allocated on a node that has no record of it")
    rolled = _rolled(tx)
    for row in tx.execute(select(pool_rollup)).all():
        true_capacity, true_allocated = rolled.pop((row.pool, row.resource), (0, 0))
        if (row.capacity, row.allocated) != (true_capacity, true_allocated):
            told = f"pool {row.pool}: {row.allocated} of {row.capacity} {row.resource} on record"
            yield Finding("ledger", "", f"{told}, its nodes add up to {true_allocated} of {true_capacity}")
    known = {allocation.id for allocation in ledger.list_allocations(tx)}
    for row in tx.execute(select(port_claims)).all():
        if row.allocation not in known:
            yield Finding("ledger", row.node, f"port {row.port} is claimed by {row.allocation}, which is gone")
    yield from _bookings(tx)


def _bookings(tx: Tx) -> Iterator[Finding]:
    """Rows of devices that no allocation stands behind, and devices of an allocation without a row."""
    booked = set(bookings.all_bookings(tx))
    true = {(a.node, one.device, a.id, one.units) for a in ledger.list_allocations(tx) for one in a.devices}
    for node, device, allocation, units in sorted(booked - true):
        yield Finding("ledger", node, f"{device}: {units} thousandths booked by {allocation}, which holds no such part")
    for node, device, allocation, units in sorted(true - booked):
        yield Finding("ledger", node, f"{device}: {units} thousandths of {allocation} are not booked")


def _rolled(tx: Tx) -> dict[tuple[str, str], tuple[int, int]]:
    """(pool, resource) to capacity of its nodes and what is allocated in it."""
    pools = {node.name: node.spec.pool for node in resources.list_all(tx, "node")}
    capacity: Counter[tuple[str, str]] = Counter()
    allocated: Counter[tuple[str, str]] = Counter()
    for row in tx.execute(select(node_scalars)).all():
        if row.node in pools:
            capacity[pools[row.node], row.resource] += row.capacity
    for allocation in ledger.list_allocations(tx):
        for resource, amount in ledger.scalars(allocation):
            allocated[allocation.pool, resource] += amount
    return {key: (capacity[key], allocated[key]) for key in capacity.keys() | allocated.keys()}


def _over(tx: Tx) -> Iterator[Finding]:
    """At some instant from now on."""
    for row in tx.execute(select(node_scalars).where(node_scalars.c.allocated > node_scalars.c.capacity)).all():
        capacity, most = timed.promised(tx, row.node)[row.resource]
        if most > capacity:
            yield Finding("over", row.node, f"{row.resource}: {most} claimed of {capacity}")


def _instances(tx: Tx, strays: Iterable[Instance]) -> Iterator[Finding]:
    jobs = {row.uid: row.name for row in tx.execute(select(resources_table.c.uid, resources_table.c.name))}
    claimed = {(a.uid, a.instance) for a in ledger.list_allocations(tx)}
    for instance in (*nodes.list_instances(tx), *strays):
        if not instance.alive or (instance.uid, instance.id) in claimed:
            continue
        called = shown("job", instance.job) if instance.job else "a process"
        told = f"{called} runs as {instance.id}" + (f", pid {instance.pid}" if instance.pid else "")
        if instance.uid in jobs:
            yield Finding("unclaimed", instance.node, f"{told}, and no room is claimed for it")
        else:
            yield Finding("unowned", instance.node, f"{told}: unowned, was {instance.uid}")


def _idle(tx: Tx) -> Iterator[Finding]:
    """Room that a job keeps between two starts, or has ahead of its hour, is as it should be; so is a booking."""
    alive = {(i.uid, i.id) for i in nodes.list_instances(tx) if i.alive}
    busy = set(tx.execute(select(effects.c.uid).where(OPEN).distinct()).scalars().all())
    kept = {job.uid for job in resources.list_all(tx, "job") if job.status.phase in KEEPS_ROOM}
    for allocation in ledger.list_allocations(tx):
        if allocation.owner.kind != "job":
            continue
        facts = nodes.facts(tx, allocation.node)
        connected = facts is not None and facts.connected
        if connected and allocation.uid not in busy | kept and (allocation.uid, allocation.instance) not in alive:
            yield Finding("idle", allocation.node, f"room is held for {allocation.owner}, which does not run there")
