"""The ledger of room: what nodes have, what is claimed, guarded by the statements that write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Integer, Row, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from resources.allocation import Allocation
from store import bookings, node_labels, placement_log, timed
from store.allocation_rows import read, written
from store.errors import Short
from store.notes import BlocksChanged, Released, Reserved, RoomSet
from store.statements import prepared
from store.tables import allocations, node_blocks, node_scalars, pool_rollup, port_claims
from store.tx import Tx

BLOCK_ORDER = ("unreachable", "no inventory", "terminating", "unhealthy", "not ready", "cordoned")

_by_id = prepared(select(allocations).where(allocations.c.id == bindparam("i")))
_list = select(allocations).order_by(allocations.c.id)
_listed = prepared(_list)
_listed_of = prepared(_list.where(allocations.c.uid == bindparam("u")))
_listed_on = prepared(_list.where(allocations.c.node == bindparam("n")))
_insert = prepared(insert(allocations))
_delete = prepared(delete(allocations).where(allocations.c.id == bindparam("i")))
_take = prepared(
    update(node_scalars)
    .where(
        node_scalars.c.node == bindparam("n"),
        node_scalars.c.resource == bindparam("r"),
        node_scalars.c.allocated + bindparam("x") <= node_scalars.c.capacity,
    )
    .values(allocated=node_scalars.c.allocated + bindparam("a"))
)
_give = prepared(
    update(node_scalars)
    .where(node_scalars.c.node == bindparam("n"), node_scalars.c.resource == bindparam("r"))
    .values(allocated=node_scalars.c.allocated - bindparam("a"))
)
_scalars = prepared(select(node_scalars).where(node_scalars.c.node == bindparam("n")).order_by(node_scalars.c.resource))
_free = prepared(
    select(node_scalars.c.capacity - node_scalars.c.allocated).where(
        node_scalars.c.node == bindparam("n"), node_scalars.c.resource == bindparam("r")
    )
)
_port = prepared(upsert(port_claims).on_conflict_do_nothing())
_free_ports = prepared(delete(port_claims).where(port_claims.c.allocation == bindparam("i")))
_put_scalar = upsert(node_scalars)
_set_scalar = prepared(
    _put_scalar.on_conflict_do_update(
        index_elements=["node", "resource"],
        set_={"total": _put_scalar.excluded.total, "capacity": _put_scalar.excluded.capacity},
    )
)
_put_rollup = upsert(pool_rollup)
_add_rollup = prepared(
    _put_rollup.on_conflict_do_update(
        index_elements=["pool", "resource"],
        set_={
            "capacity": pool_rollup.c.capacity + _put_rollup.excluded.capacity,
            "allocated": pool_rollup.c.allocated + _put_rollup.excluded.allocated,
        },
    )
)
_blocks = prepared(select(node_blocks).where(node_blocks.c.node == bindparam("n")).order_by(node_blocks.c.since))
_barred = prepared(
    select(node_blocks.c.reason)
    .where(
        node_blocks.c.node == bindparam("n"),
        node_blocks.c.reason != bindparam("own"),
        or_(bindparam("lease", type_=Integer) == 0, node_blocks.c.reason.startswith("dedicated=")),
        or_(bindparam("leased", type_=Integer) == 0, node_blocks.c.reason != "cordoned"),
    )
    .limit(1)
)
"""A reason that the claim does not tolerate; the placer's own rule is the filter `schedulable`."""
_leased = prepared(
    select(allocations.c.id)
    .where(allocations.c.uid == bindparam("u"), allocations.c.node == bindparam("n"), allocations.c.lease == 1)
    .limit(1)
)
_block = prepared(upsert(node_blocks).on_conflict_do_nothing())
_unblock = prepared(
    delete(node_blocks).where(
        node_blocks.c.node == bindparam("n"),
        node_blocks.c.reason == bindparam("r"),
        node_blocks.c.cause == bindparam("c"),
    )
)


def scalars(allocation: Allocation) -> tuple[tuple[str, int], ...]:
    """The amounts of an allocation by resource, in the order in which they are claimed."""
    return (
        ("vcpu", allocation.capacity_milli),
        ("cores", allocation.cores),
        ("memory", allocation.memory_mib),
    )


def reserve(tx: Tx, allocation: Allocation, labels: Mapping[str, str] | None = None) -> None:
    """Claim room; the same allocation again writes nothing. Raises Short naming what the node lacks.

    Order of statements: node, devices, bookings, scalars, ports, allocation row, rollup.
    """
    found = find(tx, allocation.id)
    if found is not None:
        if found != allocation:
            raise Short(allocation.node, f"{allocation.id} is held on {found.node}")
        return
    barring = {"n": allocation.node, "own": f"dedicated={allocation.tenant or ''}", "lease": int(allocation.lease)}
    barring["leased"] = int(_in_a_lease(tx, allocation))
    if tx.execute(_barred, barring).first() is not None:
        raise Short(allocation.node, f"{allocation.node} is no longer schedulable")
    gone = node_labels.missing(tx, allocation.node, labels or {})
    if gone is not None:
        raise Short(allocation.node, f"{allocation.node} no longer has label {gone}")
    bookings.book(tx, allocation)
    extra = timed.taking(tx, allocation)
    for resource, amount in scalars(allocation):
        values = {"n": allocation.node, "r": resource, "a": amount, "x": extra[resource]}
        if amount and tx.write(_take, values).rowcount == 0:
            raise Short(allocation.node, f"{resource} on {allocation.node} ran out")
    for port in allocation.ports:
        if tx.write(_port, {"node": allocation.node, "port": port, "allocation": allocation.id}).rowcount == 0:
            raise Short(allocation.node, f"{port} on {allocation.node} was taken concurrently")
    tx.write(_insert, {**written(allocation), "created_at": tx.now})
    _roll(tx, allocation.pool, {r: (0, a) for r, a in scalars(allocation) if a})
    tx.note(Reserved(allocation, placement_log.claimed(tx, allocation)))
    for changed in timed.prolong(tx, allocation):
        tx.note(Reserved(changed, placement_log.claimed(tx, changed)))


def _in_a_lease(tx: Tx, allocation: Allocation) -> bool:
    """Whether a job takes its room from a reservation that has the whole node."""
    if allocation.inside is None:
        return False
    return tx.execute(_leased, {"u": allocation.inside, "n": allocation.node}).first() is not None


def release(tx: Tx, allocation_id: str) -> Allocation | None:
    """Give room back; None when nothing was held."""
    found = find(tx, allocation_id)
    if found is None:
        return None
    bookings.free(tx, found)
    for resource, amount in scalars(found):
        if amount:
            tx.write(_give, {"n": found.node, "r": resource, "a": amount})
    tx.write(_free_ports, {"i": found.id})
    tx.write(_delete, {"i": found.id})
    _roll(tx, found.pool, {r: (0, -a) for r, a in scalars(found) if a})
    tx.note(Released(found, placement_log.let_go(tx, found.id)))
    return found


def find(tx: Tx, allocation_id: str) -> Allocation | None:
    row = tx.execute(_by_id, {"i": allocation_id}).first()
    return None if row is None else read(row)


def list_allocations(
    tx: Tx, *, uid: str | None = None, node: str | None = None, pool: str | None = None
) -> tuple[Allocation, ...]:
    """By id; of a job, a node, a pool, or all."""
    if uid is not None:
        rows = tx.execute(_listed_of, {"u": uid})
    elif node is not None:
        rows = tx.execute(_listed_on, {"n": node})
    else:
        rows = tx.execute(_listed)
    found = map(read, rows)
    return tuple(a for a in found if pool in (None, a.pool) and node in (None, a.node))


def set_room(tx: Tx, node: str, pool: str, room: dict[str, tuple[int, int]]) -> None:
    """What a node has: resource to (total, claimable). What is claimed stays as it is."""
    before = {row.resource: (row.total, row.capacity) for row in tx.execute(_scalars, {"n": node})}
    if before == room:
        return
    for resource, (total, capacity) in room.items():
        tx.write(
            _set_scalar, {"node": node, "resource": resource, "total": total, "capacity": capacity, "allocated": 0}
        )
    _roll(tx, pool, {r: (capacity - before.get(r, (0, 0))[1], 0) for r, (_, capacity) in room.items()})
    tx.note(RoomSet(node, dict(room)))


def drop_node(tx: Tx, node: str, pool: str) -> None:
    """Forget a node that holds no allocation."""
    gone = {row.resource: (-row.capacity, -row.allocated) for row in tx.execute(_scalars, {"n": node})}
    tx.write(delete(node_scalars).where(node_scalars.c.node == node))
    tx.write(delete(node_blocks).where(node_blocks.c.node == node))
    bookings.set_devices(tx, node, ())
    _roll(tx, pool, gone)


def room(tx: Tx, node: str) -> dict[str, tuple[int, int, int]]:
    """Resource to (total, claimable, claimed) of a node."""
    return {row.resource: (row.total, row.capacity, row.allocated) for row in tx.execute(_scalars, {"n": node})}


def block(tx: Tx, node: str, reason: str, cause: str = "") -> None:
    """A NoSchedule row; blocking twice writes nothing."""
    if tx.write(_block, {"node": node, "reason": reason, "cause": cause, "since": tx.now}).rowcount:
        tx.note(BlocksChanged(node, blocks(tx, node)))


def unblock(tx: Tx, node: str, reason: str, cause: str = "") -> None:
    if tx.write(_unblock, {"n": node, "r": reason, "c": cause}).rowcount:
        tx.note(BlocksChanged(node, blocks(tx, node)))


def blocks(tx: Tx, node: str) -> tuple[str, ...]:
    """NoSchedule reasons of a node in their fixed order, each once."""
    reasons = {row.reason for row in tx.execute(_blocks, {"n": node})}
    known = [reason for reason in BLOCK_ORDER if reason in reasons]
    return (*known, *sorted(reasons - set(known)))


def block_rows(tx: Tx, node: str) -> tuple[Row[Any], ...]:
    """Reason, cause and since of each NoSchedule row."""
    return tuple(tx.execute(_blocks, {"n": node}))


def rollup(tx: Tx, pool: str) -> dict[str, tuple[int, int]]:
    """Resource to (claimable, claimed) over the nodes of a pool."""
    rows = tx.execute(select(pool_rollup).where(pool_rollup.c.pool == pool))
    return {row.resource: (row.capacity, row.allocated) for row in rows}


def summed(tx: Tx, pool: str) -> dict[str, int]:
    """Claimed amounts of a pool, added up from its live allocations: what the rollup must equal."""
    names = {"vcpu": allocations.c.capacity_milli, "cores": allocations.c.cores, "memory": allocations.c.memory_mib}
    sums = [func.coalesce(func.sum(column), 0).label(name) for name, column in names.items()]
    row = tx.execute(select(*sums).where(allocations.c.pool == pool)).one()
    return {name: int(row._mapping[name]) for name in names}


def _roll(tx: Tx, pool: str, deltas: dict[str, tuple[int, int]]) -> None:
    for resource, (capacity, allocated) in deltas.items():
        if capacity or allocated:
            tx.write(_add_rollup, {"pool": pool, "resource": resource, "capacity": capacity, "allocated": allocated})


def all_rooms(tx: Tx) -> dict[str, dict[str, tuple[int, int]]]:
    """Every node's resources to (total, claimable)."""
    rooms: dict[str, dict[str, tuple[int, int]]] = {}
    for row in tx.execute(select(node_scalars)):
        rooms.setdefault(row.node, {})[row.resource] = (row.total, row.capacity)
    return rooms


def all_blocks(tx: Tx) -> dict[str, tuple[str, ...]]:
    """Every closed node's reasons in their fixed order."""
    names = {row.node for row in tx.execute(select(node_blocks.c.node).distinct())}
    return {name: blocks(tx, name) for name in sorted(names)}
