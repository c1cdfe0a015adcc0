"""The log of nodes' devices: what each had, and what counted as well, at any point that a decision may have seen."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import bindparam, delete, func, insert, select

from resources.canonical import canonical
from resources.devices import Device
from store import changes
from store.device_rows import read, written
from store.statements import prepared
from store.tables import device_log
from store.tx import Tx

_insert = prepared(insert(device_log))
_head = prepared(select(func.coalesce(func.max(device_log.c.id), 0)))
_newest = (
    select(func.max(device_log.c.id)).where(device_log.c.id <= bindparam("i")).group_by(device_log.c.node)
).scalar_subquery()


def add(tx: Tx, node: str, devices: Iterable[Device]) -> int:
    """The number of the entry."""
    listed = [written(node, position, device) for position, device in enumerate(devices)]
    values = {"node": node, "revision": changes.head(tx), "devices": canonical(listed)}
    number: int = tx.write(_insert, values).lastrowid
    return number


def head(tx: Tx) -> int:
    return int(tx.execute(_head).scalar_one())


def at(tx: Tx, number: int) -> dict[str, tuple[Device, ...]]:
    """By node, what it had once this entry was written."""
    rows = tx.execute(select(device_log).where(device_log.c.id.in_(_newest)), {"i": number})
    return {
        row.node: tuple(map(read, sorted(json.loads(row.devices), key=lambda device: device["position"])))
        for row in rows
    }


def compact(tx: Tx) -> int:
    """Drop what no decision can ask for that the log of changes still reaches; how many."""
    newer = device_log.alias()
    later = select(newer.c.id).where(
        newer.c.node == device_log.c.node, newer.c.id > device_log.c.id, newer.c.revision < changes.oldest(tx)
    )
    return int(tx.write(delete(device_log).where(later.exists())).rowcount)
