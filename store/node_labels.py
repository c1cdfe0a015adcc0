"""Whether a node still has the labels that a claim was planned with."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import bindparam, select

from store.statements import prepared
from store.tables import labels, resources
from store.tx import Tx

ANY_VALUE = "*"

_value = prepared(
    select(labels.c.value)
    .join(resources, resources.c.uid == labels.c.uid)
    .where(
        resources.c.kind == "node",
        resources.c.project == "",
        resources.c.name == bindparam("n"),
        labels.c.key == bindparam("k"),
    )
)


def missing(tx: Tx, node: str, wanted: Mapping[str, str]) -> str | None:
    """The first label that is not there, or not with that value, as `KEY` or `KEY=VALUE`."""
    for key, value in wanted.items():
        found = tx.execute(_value, {"n": node, "k": key}).scalar_one_or_none()
        if found is None or value not in (ANY_VALUE, found):
            return key if value == ANY_VALUE else f"{key}={value}"
    return None
