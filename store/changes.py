"""The ordered log of revisions: what feeds watches, the fleet view and replay."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import delete, func, insert, select

from resources.canonical import Document, canonical
from resources.reference import Ref
from store.statements import prepared
from store.tables import changes
from store.tx import Tx

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

_insert = prepared(insert(changes))
_head = prepared(select(func.coalesce(func.max(changes.c.revision), 0)))
_oldest = prepared(select(func.coalesce(func.min(changes.c.revision), 0)))


@dataclass(frozen=True)
class Change:
    """One revision; `document` is the object as the wire shows it after the write."""

    revision: int
    type: ChangeType
    ref: Ref
    uid: str
    document: Document


def append(tx: Tx, type_: ChangeType, ref: Ref, uid: str, document: Document | str) -> int:
    """Write one revision and return it; the document gets it as its resourceVersion where it has metadata.

    A text is canonical JSON already.
    """
    inserted = tx.write(
        _insert,
        {
            "at": tx.now,
            "type": type_,
            "kind": ref.kind,
            "project": ref.project,
            "name": ref.name,
            "uid": uid,
            "document": document if isinstance(document, str) else canonical(document),
        },
    )
    revision: int = inserted.lastrowid
    return revision


def head(tx: Tx) -> int:
    """The newest revision, 0 in an empty store."""
    return int(tx.execute(_head).scalar_one())


def oldest(tx: Tx) -> int:
    """The oldest revision that is still kept, 0 in an empty store."""
    return int(tx.execute(_oldest).scalar_one())


def since(
    tx: Tx, revision: int, *, kind: str | None = None, project: str | None = None, limit: int = 500
) -> tuple[Change, ...]:
    """Revisions above `revision`, in order."""
    statement = select(changes).where(changes.c.revision > revision).order_by(changes.c.revision).limit(limit)
    if kind is not None:
        statement = statement.where(changes.c.kind == kind)
    if project is not None:
        statement = statement.where(changes.c.project == project)
    return tuple(
        Change(
            row.revision, row.type, Ref(row.kind, row.name, row.project), row.uid, _document(row.document, row.revision)
        )
        for row in tx.execute(statement)
    )


def compact(tx: Tx, keep: int, most: int | None = None) -> int:
    """Drop all but the newest `keep` revisions, the oldest first and `most` at a time; how many went.

    The newest always stays, so that the counter is never lost.
    """
    limit = head(tx) - max(keep, 1)
    if most is not None:
        limit = min(limit, oldest(tx) + most - 1)
    return int(tx.write(delete(changes).where(changes.c.revision <= limit)).rowcount)


def _document(text: str, revision: int) -> Document:
    document: Document = json.loads(text)
    if "metadata" in document:
        document["metadata"]["resourceVersion"] = str(revision)
    return document
