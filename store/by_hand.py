"""What people decide about effects: one is there or never happened, or all of a resource are given up."""

from __future__ import annotations

from typing import Any

from sqlalchemy import or_, update

from resources.effect import EffectRecord
from store.effect_rows import bounded
from store.effects import OPEN, find, open_of
from store.notes import EffectDue
from store.tables import effects as table
from store.tx import Tx


def settle(tx: Tx, uid: str, key: str, *, adopted: str | None, reason: str) -> EffectRecord | None:
    """What a person knows of an open effect that no worker holds: it is there under this id, or it never happened.

    One that never happened is tried again from the start. None when it is not there, is final, or is held now.
    """
    values: dict[str, Any] = {"attempts": 0, "state": "pending", "available_at": tx.now, "error": bounded(reason)}
    if adopted is not None:
        values = {"state": "applied", "external_ref": adopted, "completed_at": tx.now, "error": None}
    free = or_(table.c.token_hash.is_(None), table.c.expires_at <= tx.now)
    statement = update(table).where(table.c.uid == uid, table.c.key == key, OPEN, free)
    if tx.write(statement.values(token_hash=None, expires_at=None, **values)).rowcount == 0:
        return None
    stored = find(tx, uid, key)
    if stored is not None and not stored.final:
        tx.note(EffectDue(stored.provider, tx.now))
    return stored


def abandon(tx: Tx, uid: str, reason: str) -> tuple[EffectRecord, ...]:
    """Give up every open effect of a resource, as they were: what they asked for may be left in the world."""
    left = open_of(tx, uid)
    values = {"state": "rejected", "code": "abandoned", "error": bounded(reason), "completed_at": tx.now}
    tx.write(update(table).where(table.c.uid == uid, OPEN).values(token_hash=None, expires_at=None, **values))
    return left
