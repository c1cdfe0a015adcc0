"""Pauses: which resource keeps another from being decided, by its own word or by that of what it stands in."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import bindparam, select

from resources.reference import Ref
from resources.resource import Resource
from store.statements import prepared
from store.tables import resources as table
from store.tx import Tx

PAUSED = "rmctl/paused"
"""The annotation; its value is the reason."""

_columns = select(table.c.kind, table.c.project, table.c.name, table.c.annotations)
_by_uid = prepared(_columns.where(table.c.uid == bindparam("u")))
_pool = prepared(_columns.where(table.c.kind == "pool", table.c.project == "", table.c.name == bindparam("n")))
_members = (
    select(table.c.kind, table.c.project, table.c.name, table.c.spec)
    .where(table.c.kind.in_(["node", "bundle", "job"]))
    .order_by(table.c.kind, table.c.project, table.c.name)
)
_owned = prepared(
    select(table.c.kind, table.c.project, table.c.name)
    .where(table.c.owner == bindparam("o"))
    .order_by(table.c.kind, table.c.project, table.c.name)
)


def find(tx: Tx, resource: Resource[Any, Any]) -> tuple[Ref, str] | None:
    """What is paused, and why: the resource itself, the bundle that owns it, or the pool that it stands in."""
    if PAUSED in resource.annotations:
        return resource.ref, resource.annotations[PAUSED]
    rows = []
    if resource.owner is not None:
        rows.append(tx.execute(_by_uid, {"u": resource.owner}).first())
    pool = getattr(resource.spec, "pool", None)
    if isinstance(pool, str):
        rows.append(tx.execute(_pool, {"n": pool}).first())
    for row in rows:
        if row is not None and PAUSED in row.annotations:
            annotations = json.loads(row.annotations)
            if PAUSED in annotations:
                return Ref(row.kind, row.name, row.project), str(annotations[PAUSED])
    return None


def below(tx: Tx, resource: Resource[Any, Any]) -> tuple[Ref, ...]:
    """What a pause of this one holds too."""
    if resource.ref.kind == "pool":
        rows = tx.execute(_members).all()
        return tuple(
            Ref(row.kind, row.name, row.project) for row in rows if json.loads(row.spec).get("pool") == resource.name
        )
    return tuple(Ref(row.kind, row.name, row.project) for row in tx.execute(_owned, {"o": resource.uid}))
