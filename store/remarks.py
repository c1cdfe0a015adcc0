"""Remarks: small named values about the store as a whole, in its table `meta`."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert

from resources.canonical import canonical
from store.statements import prepared
from store.tables import meta
from store.tx import Tx

_one = prepared(select(meta.c.value).where(meta.c.name == bindparam("n")))
_below = prepared(
    select(meta.c.name, meta.c.value)
    .where(meta.c.name >= bindparam("low"), meta.c.name < bindparam("high"))
    .order_by(meta.c.name)
)
_put = insert(meta)
_upsert = prepared(_put.on_conflict_do_update(index_elements=["name"], set_={"value": _put.excluded.value}))
_remove = prepared(delete(meta).where(meta.c.name == bindparam("n")))


def find(tx: Tx, name: str) -> Any:
    """The value as JSON, or None."""
    text = tx.execute(_one, {"n": name}).scalar_one_or_none()
    return None if text is None else json.loads(text)


def put(tx: Tx, name: str, value: Any) -> None:
    tx.write(_upsert, {"name": name, "value": canonical(value)})


def remove(tx: Tx, name: str) -> bool:
    """Whether it was there."""
    return bool(tx.write(_remove, {"n": name}).rowcount)


def below(tx: Tx, prefix: str) -> dict[str, Any]:
    """Every remark whose name begins with a text, by name."""
    rows = tx.execute(_below, {"low": prefix, "high": prefix + "\U0010ffff"})
    return {row.name: json.loads(row.value) for row in rows}
