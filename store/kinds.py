"""The kinds that stand in the store."""

from __future__ import annotations

from sqlalchemy import select

from store.tables import resources as table
from store.tx import Tx


def stored(tx: Tx) -> tuple[str, ...]:
    """Every kind that there is a resource of, by name."""
    return tuple(row.kind for row in tx.execute(select(table.c.kind).distinct().order_by(table.c.kind)))
