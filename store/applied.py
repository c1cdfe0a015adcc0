"""What each field manager applied last: the base of a three-way merge."""

from __future__ import annotations

import json

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from resources.canonical import Document, canonical
from store.statements import prepared
from store.tables import applied as table
from store.tx import Tx

WHOLE = "\x01"
"""Before the name of a manager: what it applied in all. No manager's own name begins so."""

_find = prepared(select(table.c.document).where(table.c.uid == bindparam("u"), table.c.manager == bindparam("m")))
_all = prepared(
    select(table.c.manager, table.c.document).where(table.c.uid == bindparam("u")).order_by(table.c.manager)
)
_put = insert(table)
_upsert = prepared(
    _put.on_conflict_do_update(
        index_elements=["uid", "manager"], set_={"document": _put.excluded.document, "at": _put.excluded.at}
    )
)
_delete = prepared(delete(table).where(table.c.uid == bindparam("u"), table.c.manager == bindparam("m")))


def find(tx: Tx, uid: str, manager: str) -> Document | None:
    text = tx.execute(_find, {"u": uid, "m": manager}).scalar_one_or_none()
    if text is None:
        return None
    document: Document = json.loads(text)
    return document


def put(tx: Tx, uid: str, manager: str, document: Document) -> None:
    tx.write(_upsert, {"uid": uid, "manager": manager, "document": canonical(document), "at": tx.now})


def forget(tx: Tx, uid: str, manager: str) -> None:
    tx.write(_delete, {"u": uid, "m": manager})


def managers(tx: Tx, uid: str) -> dict[str, Document]:
    """What every manager holds, by manager."""
    rows = tx.execute(_all, {"u": uid})
    return {row.manager: json.loads(row.document) for row in rows if not row.manager.startswith(WHOLE)}


def whole(tx: Tx, uid: str, manager: str) -> Document:
    """All that a manager's last apply said, also what others have changed since; empty when it never applied."""
    return find(tx, uid, WHOLE + manager) or {}


def put_whole(tx: Tx, uid: str, manager: str, document: Document) -> None:
    """The same again writes nothing."""
    if whole(tx, uid, manager) != document:
        put(tx, uid, WHOLE + manager, document)
