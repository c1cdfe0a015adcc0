"""Labels of resources, in a table of their own so that a selector is an index look-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, Table, bindparam, delete, insert, select

from store.statements import prepared
from store.tables import labels as table
from store.tx import Tx

_delete = prepared(delete(table).where(table.c.uid == bindparam("u")))
_insert = prepared(insert(table))


def replace(tx: Tx, uid: str, kind: str, labels: Mapping[str, str]) -> None:
    tx.write(_delete, {"u": uid})
    if labels:
        tx.write(_insert, [{"uid": uid, "key": key, "value": value, "kind": kind} for key, value in labels.items()])


def carriers(resources: Table) -> Select[Any]:
    """Resources of kind :k with label :l = :v, by name."""
    return (
        select(resources)
        .join(table, table.c.uid == resources.c.uid)
        .where(table.c.kind == bindparam("k"), table.c.key == bindparam("l"), table.c.value == bindparam("v"))
        .order_by(resources.c.name)
    )
