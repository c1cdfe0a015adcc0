"""The queue as a whole: how long it is, who waits longest, and how it is built anew."""

from __future__ import annotations

from sqlalchemy import delete, func, select, update

from resources.reference import Ref
from store.queue import enqueue
from store.tables import queue as table
from store.tables import resources
from store.tx import Tx


def depth(tx: Tx) -> int:
    return int(tx.execute(select(func.count()).select_from(table)).scalar_one())


def oldest_due(tx: Tx) -> float | None:
    """Since when the key that is due longest waits, taken by a worker already or not; None when none is due."""
    found: float | None = tx.execute(
        select(func.min(table.c.available_at)).where(table.c.available_at <= tx.now)
    ).scalar_one_or_none()
    return found


def busy(tx: Tx, kind: str) -> frozenset[Ref]:
    """Keys of a kind that somebody works on now."""
    held = select(table).where(table.c.kind == kind, table.c.token_hash.is_not(None), table.c.expires_at > tx.now)
    return frozenset(Ref(row.kind, row.name, row.project) for row in tx.execute(held))


def rebuild(tx: Tx) -> tuple[int, int]:
    """Every resource due now, keys of none dropped: (keys woken, keys dropped). What is claimed stays claimed."""
    kept = select(resources.c.uid).where(
        resources.c.kind == table.c.kind, resources.c.project == table.c.project, resources.c.name == table.c.name
    )
    dropped = int(tx.write(delete(table).where(~kept.exists())).rowcount)
    tx.write(update(table).where(table.c.token_hash.is_(None)).values(errors=0, conflicts=0, available_at=tx.now))
    woken = 0
    for row in tx.execute(select(resources.c.kind, resources.c.project, resources.c.name)).all():
        enqueue(tx, Ref(row.kind, row.name, row.project))
        woken += 1
    return woken, dropped
