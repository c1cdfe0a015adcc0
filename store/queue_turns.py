"""Turns in the queue: due keys of a lane, less those of kinds and those keys that have enough at work."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

from sqlalchemy import Row, func, or_, select, tuple_

from resources.reference import Ref
from store.tables import queue as table
from store.tx import Tx


def due(tx: Tx, limit: int, lane: int, *, without: AbstractSet[str], nor: Iterable[Ref] = ()) -> list[Row[Any]]:
    """Oldest first; also those whose lease ran out."""
    free = or_(table.c.token_hash.is_(None), table.c.expires_at <= tx.now)
    found = select(table).where(table.c.available_at <= tx.now, free, *_of(lane, without, nor))
    return list(tx.execute(found.order_by(table.c.available_at).limit(limit)).all())


def next_due(tx: Tx, lane: int, *, without: AbstractSet[str], nor: Iterable[Ref] = ()) -> float | None:
    """When the next unclaimed key of the others is due."""
    at = select(func.min(table.c.available_at)).where(table.c.token_hash.is_(None), *_of(lane, without, nor))
    found: float | None = tx.execute(at).scalar_one_or_none()
    return found


def _of(lane: int, without: AbstractSet[str], nor: Iterable[Ref]) -> tuple[Any, ...]:
    keys = [(ref.kind, ref.project, ref.name) for ref in nor]
    key = tuple_(table.c.kind, table.c.project, table.c.name)
    barred = (key.not_in(keys),) if keys else ()
    return (table.c.lane == lane, table.c.kind.not_in(sorted(without)), *barred)
