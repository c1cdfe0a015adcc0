"""Events of resources: equal ones merge into one row with a count."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, select, update

from resources.canonical import Document, canonical
from resources.event import Event, Severity
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
"""Rows kept of one resource, so that a flood of one severity does not push out the other."""


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
_surplus = prepared(
    select(table.c.id)
    .where(table.c.uid == bindparam("u"), table.c.severity == bindparam("s"))
    .order_by(table.c.last_at.desc(), table.c.id.desc())
    .limit(-1)
    .offset(bindparam("keep"))
)


def add(tx: Tx, ref: Ref, uid: str, event: Event) -> None:
    """Raises TooLarge for a payload over 64 KiB."""
    payload = canonical(dict(event.payload))
    size = len(payload.encode())
    if size > MAX_PAYLOAD:
        raise TooLarge("event payload", size, MAX_PAYLOAD)
    found = tx.execute(_same, {"u": uid, "t": event.type, "s": event.severity, "m": event.message}).first()
    count, first = (1, tx.now) if found is None else (found._mapping["count"] + 1, found.first_at)
    shown_event: Document = {
        "type": event.type,
        "severity": event.severity,
        "message": event.message,
        "kind": ref.kind,
        "name": ref.name,
        "for": shown(ref.kind, ref.name),
        "payload": dict(event.payload),
        "count": count,
        "firstAt": rfc3339(first),
        "lastAt": rfc3339(tx.now),
    }
    revision = changes.append(
        tx, "ADDED" if found is None else "MODIFIED", Ref("event", ref.name, ref.project), uid, shown_event
    )
    values = {"payload": payload, "count": count, "last_at": tx.now, "revision": revision}
    if found is not None:
        tx.write(_again, {"b_id": found.id, **values})
    else:
        names = {"uid": uid, "kind": ref.kind, "project": ref.project, "name": ref.name}
        kind = {"type": event.type, "severity": event.severity, "message": event.message, "first_at": first}
        tx.write(_insert, {**names, **kind, **values})
        _trim(tx, uid, event.severity)
    tx.note(Evented(ref, event.type))


def list_for(tx: Tx, ref: Ref | None = None, *, uid: str | None = None, limit: int = 100) -> tuple[EventRecord, ...]:
    """Newest first; of one resource by name or by uid, or of all. `limit` from 1 to 10,000."""
    statement = _newest.limit(limit)
    if ref is not None:
        statement = statement.where(table.c.kind == ref.kind, table.c.project == ref.project, table.c.name == ref.name)
    if uid is not None:
        statement = statement.where(table.c.uid == uid)
    return tuple(map(_read, tx.execute(statement)))


def by_id(tx: Tx, number: int) -> EventRecord | None:
    row = tx.execute(select(table).where(table.c.id == number)).first()
    return None if row is None else _read(row)


def _trim(tx: Tx, uid: str, severity: Severity) -> None:
    keep = KEEP_WARNING if severity == "Warning" else KEEP_NORMAL
    surplus = [row.id for row in tx.execute(_surplus, {"u": uid, "s": severity, "keep": keep})]
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
