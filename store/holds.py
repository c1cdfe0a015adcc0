"""The hold: while it stands no effect is begun, whatever passes decide."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from store import remarks
from store.effects import OPEN
from store.notes import EffectDue
from store.tables import effects
from store.tx import Tx

NAME = "hold"


@dataclass(frozen=True)
class Hold:
    """`since` in unix seconds."""

    reason: str
    by: str
    since: float


def find(tx: Tx) -> Hold | None:
    found = remarks.find(tx, NAME)
    return None if found is None else Hold(str(found["reason"]), str(found["by"]), float(found["since"]))


def put(tx: Tx, reason: str, by: str) -> Hold:
    """Holding again changes the reason and keeps the time."""
    standing = find(tx)
    hold = Hold(reason, by, tx.now if standing is None else standing.since)
    remarks.put(tx, NAME, {"reason": hold.reason, "by": hold.by, "since": hold.since})
    return hold


def lift(tx: Tx) -> bool:
    """Whether there was one. Whatever has waited is due now."""
    if not remarks.remove(tx, NAME):
        return False
    for provider in tx.execute(select(effects.c.provider).where(OPEN).distinct()).scalars().all():
        tx.note(EffectDue(provider, tx.now))
    return True
