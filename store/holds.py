"""The hold: while it stands no effect and no child run is begun, whatever passes decide."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from store import remarks
from store.effects import OPEN
from store.notes import EffectDue, RunDue
from store.run_tables import workflow_runs
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
    due = select(workflow_runs.c.run_id).where(workflow_runs.c.state.in_(("pending", "running")))
    for run_id in tx.execute(due.order_by(workflow_runs.c.created_at)).scalars().all():
        tx.note(RunDue(run_id))
    return True
