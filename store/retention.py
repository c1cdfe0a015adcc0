"""What may go: rows that are over, old, and pointed at by nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, func, or_, select, tuple_

from store import remarks
from store.effects import OPEN
from store.tables import credentials, effects, events, resources
from store.tx import Tx

KEPT_EFFECTS = 20
"""Of an owner that stands, its newest are kept however old they are: its passes look at them."""
NAME = "swept"
Keys = Sequence[tuple[Any, ...]]


def old_effects(tx: Tx, before: float) -> Keys:
    """Keys of effects that came to their end before then; of a standing owner all but the newest ones."""
    rank = func.row_number().over(partition_by=effects.c.uid, order_by=effects.c.created_at.desc())
    ranked = select(effects.c.uid, effects.c.key, effects.c.completed_at, rank.label("rank")).subquery()
    over = select(ranked.c.uid, ranked.c.key).where(
        ranked.c.completed_at < before, or_(ranked.c.rank > KEPT_EFFECTS, ~_stands(ranked.c.uid))
    )
    return [tuple(row) for row in tx.execute(over)]


def drop_effects(tx: Tx, keys: Keys) -> None:
    tx.write(delete(effects).where(tuple_(effects.c.uid, effects.c.key).in_(keys), ~OPEN))


def old_events(tx: Tx, before: float) -> Keys:
    """Keys of events last seen before then; of a standing resource only where a newer one of their type followed."""
    newer = events.alias()
    followed = select(newer.c.id).where(
        newer.c.uid == events.c.uid, newer.c.type == events.c.type, newer.c.last_at > events.c.last_at
    )
    over = select(events.c.id).where(events.c.last_at < before, or_(~_stands(events.c.uid), followed.exists()))
    return [tuple(row) for row in tx.execute(over)]


def drop_events(tx: Tx, keys: Keys, before: float) -> None:
    """Those that were not seen again since."""
    tx.write(delete(events).where(events.c.id.in_([key for (key,) in keys]), events.c.last_at < before))


def drop_credentials(tx: Tx, before: float) -> int:
    """Tokens that had run out, or were spent, before then; how many went."""
    gone = or_(credentials.c.expires_at < before, credentials.c.spent_at < before)
    return int(tx.write(delete(credentials).where(gone)).rowcount)


def swept_at(tx: Tx) -> float | None:
    """When the last sweep was through, in unix seconds."""
    found = remarks.find(tx, NAME)
    return None if found is None else float(found["at"])


def note_sweep(tx: Tx) -> None:
    remarks.put(tx, NAME, {"at": tx.now})


def _stands(uid: ColumnElement[str]) -> ColumnElement[bool]:
    return select(resources.c.uid).where(resources.c.uid == uid).exists()
