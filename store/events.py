"""Events of resources: equal ones merge into one row with a count."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, select, update

from resources.canonical import Document, canonical
from resources.event import AUDIT, Event, Severity
from resources.instants import rfc3339
from resources.names import shown
from resources.reference import Ref
from store import changes
from store.errors import TooLarge
from store.notes import Evented
from store.statements import prepared
from store.tables import events as table
from store.tx import Tx

MAX_PAYLOAD = 64 * 1024
KEEP_NORMAL = 50
KEEP_WARNING = 100
KEEP_AUDIT = 1000
"""Rows kept of one resource, so that a flood of one sort does not push out the others."""


@dataclass(frozen=True)
class EventRecord:
    """`count` equal events between `first_at` and `last_at` (unix seconds)."""

    id: int
    ref: Ref
    uid: str
    type: str
    severity: Severity
    message: str
    payload: Document
    count: int
    first_at: float
    last_at: float
    revision: int


_same = prepared(
    select(table).where(
        table.c.uid == bindparam("u"),
        table.c.type == bindparam("t"),
        table.c.severity == bindparam("s"),
        table.c.message == bindparam("m"),
    )
)
_insert = prepared(insert(table))
_again = prepared(update(table).where(table.c.id == bindparam("b_id")))
_newest = select(table).order_by(table.c.last_at.desc(), table.c.id.desc())
_beyond = (
    select(table.c.id)
    .where(table.c.uid == bindparam("u"))
    .order_by(table.c.last_at.desc(), table.c.id.desc())
    .limit(-1)
    .offset(bindparam("keep"))
)
_surplus = prepared(_beyond.where(table.c.severity == bindparam("s"), table.c.type != AUDIT))
_surplus_audit = prepared(_beyond.where(table.c.type == AUDIT))


def add(tx: Tx, ref: Ref, uid: str, event: Event) -> int:
    """The id of its row, the one that it was merged into if there was one. Raises TooLarge for more than 64 KiB."""
    found = tx.execute(_same, {"u": uid, "t": event.type, "s": event.severity, "m": event.message}).first()
    if found is None:
        number = add_new(tx, ref, uid, event)
    else:
        number = int(found.id)
        _count_up(tx, found, ref, event)
    _trim(tx, uid, event)
    return number


def add_new(tx: Tx, ref: Ref, uid: str, event: Event) -> int:
    """The id of one that no equal one can precede. What is too many by then goes with the next `add`."""
    payload = _bounded(event)
    revision = _append(tx, "ADDED", ref, uid, event, count=1, first=tx.now)
    inserted = tx.write(
        _insert,
        {
            "uid": uid,
            "kind": ref.kind,
            "project": ref.project,
            "name": ref.name,
            "type": event.type,
            "severity": event.severity,
            "message": event.message,
            "payload": payload,
            "count": 1,
            "first_at": tx.now,
            "last_at": tx.now,
            "revision": revision,
        },
    )
    tx.note(Evented(ref, event.type))
    return int(inserted.lastrowid)


def _count_up(tx: Tx, found: Row[Any], ref: Ref, event: Event) -> None:
    payload = _bounded(event)
    count = found._mapping["count"] + 1
    revision = _append(tx, "MODIFIED", ref, found.uid, event, count=count, first=found.first_at)
    tx.write(_again, {"b_id": found.id, "payload": payload, "count": count, "last_at": tx.now, "revision": revision})
    tx.note(Evented(ref, event.type))


def _bounded(event: Event) -> str:
    if not event.payload:
        return "{}"
    payload = canonical(dict(event.payload))
    size = len(payload.encode())
    if size > MAX_PAYLOAD:
        raise TooLarge("event payload", size, MAX_PAYLOAD)
    return payload


def _append(tx: Tx, type_: changes.ChangeType, ref: Ref, uid: str, event: Event, *, count: int, first: float) -> int:
    at = rfc3339(tx.now)
    document: Document = {
        "type": event.type,
        "severity": event.severity,
        "message": event.message,
        "kind": ref.kind,
        "name": ref.name,
        "for": shown(ref.kind, ref.name),
        "payload": dict(event.payload),
        "count": count,
        "firstAt": at if first == tx.now else rfc3339(first),
        "lastAt": at,
    }
    return changes.append(tx, type_, Ref("event", ref.name, ref.project), uid, document)


def list_for(
    tx: Tx,
    ref: Ref | None = None,
    *,
    uid: str | None = None,
    project: str | None = None,
    limit: int = 100,
    without: Collection[str] = (),
) -> tuple[EventRecord, ...]:
    """Newest first; of one resource by name or by uid, of a project with all that is in none, or of all.

    Some types may be left out. `limit` from 1 to 10,000.
    """
    statement = _newest.limit(limit)
    if project is not None:
        statement = statement.where(table.c.project.in_((project, "")))
    if without:
        statement = statement.where(table.c.type.not_in(without))
    if ref is not None:
        statement = statement.where(table.c.kind == ref.kind, table.c.project == ref.project, table.c.name == ref.name)
    if uid is not None:
        statement = statement.where(table.c.uid == uid)
    return tuple(map(_read, tx.execute(statement)))


def by_id(tx: Tx, number: int) -> EventRecord | None:
    row = tx.execute(select(table).where(table.c.id == number)).first()
    return None if row is None else _read(row)


def _trim(tx: Tx, uid: str, event: Event) -> None:
    if event.type == AUDIT:
        rows = tx.execute(_surplus_audit, {"u": uid, "keep": KEEP_AUDIT})
    else:
        keep = KEEP_WARNING if event.severity == "Warning" else KEEP_NORMAL
        rows = tx.execute(_surplus, {"u": uid, "s": event.severity, "keep": keep})
    surplus = [row.id for row in rows]
    if surplus:
        tx.write(delete(table).where(table.c.id.in_(surplus)))


def _read(row: Row[Any]) -> EventRecord:
    return EventRecord(
        id=row.id,
        ref=Ref(row.kind, row.name, row.project),
        uid=row.uid,
        type=row.type,
        severity=row.severity,
        message=row.message,
        payload=json.loads(row.payload),
        count=row._mapping["count"],
        first_at=row.first_at,
        last_at=row.last_at,
        revision=row.revision,
    )
