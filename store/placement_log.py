"""What nodes' devices and claims were at any point that a decision may have seen: for replays of the placer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, or_, select

from resources.allocation import Allocation
from resources.canonical import canonical
from resources.devices import Device
from store import allocation_rows, changes, device_rows
from store.statements import prepared
from store.tables import placement_log
from store.tx import Tx

DEVICES, CLAIM = "devices", "claim"

_insert = prepared(insert(placement_log))
_head = prepared(select(func.coalesce(func.max(placement_log.c.id), 0)))
_newest = (
    select(func.max(placement_log.c.id))
    .where(placement_log.c.id <= bindparam("i"), placement_log.c.kind == bindparam("k"))
    .group_by(placement_log.c.name)
    .scalar_subquery()
)


def devices_set(tx: Tx, node: str, devices: Iterable[Device]) -> int:
    """The number of the entry."""
    listed = [device_rows.written(node, position, device) for position, device in enumerate(devices)]
    return _add(tx, DEVICES, node, canonical(listed))


def claimed(tx: Tx, allocation: Allocation) -> int:
    """The number of the entry."""
    return _add(tx, CLAIM, allocation.id, canonical(allocation_rows.written(allocation)))


def let_go(tx: Tx, allocation: str) -> int:
    """The number of the entry."""
    return _add(tx, CLAIM, allocation, "")


def head(tx: Tx) -> int:
    return int(tx.execute(_head).scalar_one())


def devices_at(tx: Tx, number: int) -> dict[str, tuple[Device, ...]]:
    """By node, what it had once this entry was written."""
    found = {}
    for node, rows in _at(tx, DEVICES, number):
        found[node] = tuple(map(device_rows.read, sorted(rows, key=lambda row: row["position"])))
    return found


def claims_at(tx: Tx, number: int) -> tuple[Allocation, ...]:
    """What was claimed once this entry was written."""
    rows = (SimpleNamespace(**row) for _, row in _at(tx, CLAIM, number))
    return tuple(map(allocation_rows.read, rows))


def compact(tx: Tx) -> int:
    """Drop what no decision can ask for that the log of changes still reaches; how many."""
    newer, oldest = placement_log.alias(), changes.oldest(tx)
    same = and_(newer.c.kind == placement_log.c.kind, newer.c.name == placement_log.c.name)
    later = select(newer.c.id).where(same, newer.c.id > placement_log.c.id, newer.c.revision < oldest).exists()
    over = and_(placement_log.c.document == "", placement_log.c.revision < oldest)
    return int(tx.write(delete(placement_log).where(or_(later, over))).rowcount)


def _add(tx: Tx, kind: str, name: str, document: str) -> int:
    values = {"kind": kind, "name": name, "revision": changes.head(tx), "document": document}
    number: int = tx.write(_insert, values).lastrowid
    return number


def _at(tx: Tx, kind: str, number: int) -> Iterator[tuple[str, Any]]:
    rows = tx.execute(select(placement_log).where(placement_log.c.id.in_(_newest)), {"i": number, "k": kind})
    return ((row.name, json.loads(row.document)) for row in rows if row.document)
