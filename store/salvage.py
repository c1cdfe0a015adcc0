"""Rows that are not as they were written: lists go round them, and a removal by force makes them readable first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import bindparam, or_, select, update

from resources import registry
from resources.canonical import canonical
from resources.reference import Ref
from store.errors import Corrupt
from store.rows import checksum
from store.statements import prepared
from store.tables import changes, resources
from store.tx import Tx

T = TypeVar("T")
_family = prepared(
    select(resources).where(
        or_(
            resources.c.owner == bindparam("u"),
            resources.c.uid == bindparam("u"),
        )
    )
)
_uid = prepared(
    select(resources.c.uid).where(
        resources.c.kind == bindparam("k"), resources.c.project == bindparam("p"), resources.c.name == bindparam("n")
    )
)
_last = prepared(
    select(changes.c.document)
    .where(changes.c.uid == bindparam("u"), changes.c.kind == bindparam("k"))
    .order_by(changes.c.revision.desc())
    .limit(1)
)
_update = prepared(update(resources).where(resources.c.uid == bindparam("b_uid")))


def readable(tx: Tx, rows: Iterable[Any], read: Callable[[Any], T]) -> tuple[T, ...]:
    """What can be read; a row that rotted is put on the transaction's list. Raises Corrupt when that keeps none."""
    all_ = list(rows)
    with suppress(Corrupt):
        return tuple(map(read, all_))
    found = []
    for row in all_:
        try:
            found.append(read(row))
        except Corrupt as error:
            if tx.spoilt is None:
                raise
            tx.spoilt[error.ref] = None
    return tuple(found)


def mend(tx: Tx, ref: Ref) -> None:
    """Makes the row, and those that it owns, readable again, with what is left of them: only to remove them.

    Raises Corrupt for a spec of which no copy is left.
    """
    uid = tx.execute(_uid, {"k": ref.kind, "p": ref.project, "n": ref.name}).scalar_one_or_none()
    for row in tx.execute(_family, {"u": uid}).all() if uid else ():
        if checksum(row._mapping) != row.checksum:
            values = _left(tx, row)
            values["checksum"] = checksum({**values, "generation": row.generation})
            tx.write(_update, {**values, "b_uid": row.uid})


def _left(tx: Tx, row: Any) -> dict[str, Any]:
    kind = registry.of(row.kind)
    try:
        spec = _or(lambda: _valid(kind.spec, row.spec), None) or _valid(kind.spec, _logged(tx, row.uid, row.kind))
    except (ValueError, TypeError):
        raise Corrupt(Ref(row.kind, row.name, row.project)) from None
    return {
        "spec": spec,
        "status": _or(lambda: _valid(kind.status, row.status), "{}"),
        "labels": _or(lambda: canonical(dict(json.loads(row.labels))), "{}"),
        "annotations": _or(lambda: canonical(dict(json.loads(row.annotations))), "{}"),
        "finalizers": _or(lambda: canonical(list(json.loads(row.finalizers))), "[]"),
    }


def _valid(model: Any, text: str) -> str:
    model.model_validate_json(text)
    return text


def _logged(tx: Tx, uid: str, kind: str) -> str:
    """The spec as the log of changes has it."""
    text = tx.execute(_last, {"u": uid, "k": kind}).scalar_one_or_none()
    return canonical(json.loads(text or "{}").get("spec") or {})


def _or(read: Callable[[], T], other: T) -> T:
    try:
        return read()
    except (ValueError, TypeError):
        return other
