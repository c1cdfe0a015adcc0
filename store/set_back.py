"""A clock that was set back: what waits for an instant of its old time is due now."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Table, or_, update

from store.effects import OPEN
from store.tables import effects, queue
from store.tx import Tx


def hurry(tx: Tx) -> int:
    """How many keys and effects were last begun in the future, and are due now instead of by the clock that lied.

    A wake too many is harmless; a tick that comes hours late lets a silent node pass for a healthy one.
    """
    keys = tx.write(
        update(queue)
        .where(_free(queue, tx.now), queue.c.last_run_at > tx.now)
        .values(available_at=tx.now, last_run_at=tx.now)
    )
    open_ones = tx.write(
        update(effects)
        .where(_free(effects, tx.now), effects.c.started_at > tx.now, effects.c.available_at > tx.now, OPEN)
        .values(available_at=tx.now)
    )
    return int(keys.rowcount + open_ones.rowcount)


def _free(table: Table, now: float) -> ColumnElement[bool]:
    return or_(table.c.token_hash.is_(None), table.c.expires_at <= now)
