"""How a job that runs got where it is: the steps with their times, and why it was this node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from resources.effect import EffectRecord
from resources.event import CHRONICLE
from resources.reference import Ref
from resources.resource import Resource
from store import effects, events
from store.events import EventRecord
from store.tx import Tx

Stored = Resource[Any, Any]
Row = tuple[str, ...]
ASKED = ("created generation ", "applied generation ")
LOOKED_AT = 50
FIRST_RANKED = 10


def steps(tx: Tx, job: Stored) -> tuple[Row, ...]:
    """From whoever asked for it to the moment when it was ready; what is not known any more is left out."""
    decided = _decision(tx, job)
    found: list[tuple[float, str]] = []
    asked = _asked(tx, job, before=decided.last_at if decided else tx.now)
    if asked is not None:
        found.append((asked.last_at, asked.message))
    if decided is not None:
        found.append((decided.last_at, f"placed on {decided.message}"))
    start = _start(tx, job)
    if start is not None:
        found.append((start.created_at, f"{start.kind} recorded as {start.key}"))
        if start.completed_at is not None:
            took = (start.completed_at - (start.started_at or start.created_at)) * 1000
            found.append((start.completed_at, f"{start.state} after {max(took, 0):.0f} ms"))
    if job.status.ready_at is not None:
        found.append((job.status.ready_at, "ready"))
    return tuple((_clock(at), text) for at, text in sorted(found, key=lambda one: one[0]))


def choice(tx: Tx, job: Stored) -> tuple[Row, ...]:
    """The node that was chosen, those that it was chosen over, and why the others were refused, as it was then."""
    decided = _decision(tx, job)
    ranked = decided.payload.get("ranked") if decided is not None else None
    if decided is None or not isinstance(ranked, list):
        return ()
    best = next((one for one in ranked if one.get("node") == job.status.node), None)
    if best is None:
        return ()
    lots = decided.payload.get("drawn") or ()
    rows: list[Row] = [(str(best["node"]), "chosen", _drawn(lots) or _alone(ranked))]
    for one in ranked[:FIRST_RANKED]:
        if one is best:
            continue
        if one["node"] in lots:
            rows.append((str(one["node"]), "fits too", "could have been drawn"))
        else:
            rows.append((str(one["node"]), "fits too", _worse(best["levels"], one["levels"])))
    refused = decided.payload.get("refused")
    if isinstance(refused, Mapping):
        rows += [(f"{count} more", "refused", str(reason)) for reason, count in sorted(refused.items())]
    return tuple(rows)


def _drawn(lots: Sequence[Any]) -> str:
    return f"drawn among {len(lots)} that are equal on all levels but the last" if lots else ""


def _alone(ranked: Sequence[Any]) -> str:
    return "the only one that fits" if len(ranked) == 1 else ""


def _worse(best: Mapping[str, float], other: Mapping[str, float]) -> str:
    """The first level in which the two differ: that one has decided."""
    for level, value in best.items():
        if other.get(level) != value:
            return f"{level.replace('_', ' ')} {other.get(level, 0):g}, not {value:g}"
    return "equal, and its name comes later"


def _asked(tx: Tx, job: Stored, *, before: float) -> EventRecord | None:
    """The newest write of its bundle's spec before it was placed."""
    bundle = Ref("bundle", job.spec.bundle, job.project)
    written = (
        one
        for one in events.list_for(tx, bundle, limit=LOOKED_AT, without=CHRONICLE)
        if one.type == "AuditAppended" and any(word in one.message for word in ASKED) and one.last_at <= before
    )
    return next(written, None)


def _decision(tx: Tx, job: Stored) -> EventRecord | None:
    found = events.list_for(tx, uid=job.uid, limit=LOOKED_AT, without=CHRONICLE)
    return next((one for one in found if one.type == "PlacementDecision"), None)


def _start(tx: Tx, job: Stored) -> EffectRecord | None:
    """Of what runs now."""
    key = f"start/{job.status.run_generation}/{job.status.attempt}"
    return next((one for one in effects.of(tx, job.uid) if one.key == key), None)


def _clock(at: float) -> str:
    """`10:49:57.912`"""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]
