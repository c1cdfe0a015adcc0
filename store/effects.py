"""The ledger of effects: recorded before the call, claimed by one worker, final once answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, exists, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from resources.effect import (
    CANCELLED,
    INVALID_SPEC,
    STOPPED_FIRST,
    Absent,
    Answer,
    Applied,
    Deferred,
    Effect,
    EffectRecord,
    Observation,
    Rejected,
    Unknown,
)
from resources.event import Event
from resources.resource import Resource
from store import events
from store.effect_rows import bounded, record_of, row_of
from store.errors import ClaimLost, EffectMismatch
from store.notes import Answered, EffectDue
from store.queue import hashed
from store.rows import changed
from store.statements import prepared
from store.tables import effects as table
from store.tx import Tx

LEASE_SECONDS = 120.0
OPEN = or_(table.c.state == "pending", table.c.state == "indeterminate")
UNWANTED = "no longer wanted"
UNSURE_SECONDS = 5.0
"""How long an indeterminate effect waits before it is observed again."""
UNREADABLE_SECONDS = 60.0

_insert = prepared(insert(table).on_conflict_do_nothing())
_one = prepared(select(table).where(table.c.uid == bindparam("u"), table.c.key == bindparam("k")))
_of = select(table).where(table.c.uid == bindparam("u")).order_by(table.c.created_at, table.c.key)
_all_of = prepared(_of)
_open_of = prepared(_of.where(OPEN))
_any_open = prepared(select(exists().where(table.c.uid == bindparam("u"), OPEN)))
_all = select(table).order_by(table.c.created_at.desc(), table.c.uid, table.c.key)
_due = prepared(
    select(table)
    .where(
        table.c.provider == bindparam("p"),
        OPEN,
        table.c.available_at <= bindparam("now"),
        or_(table.c.token_hash.is_(None), table.c.expires_at <= bindparam("now")),
    )
    .order_by(table.c.available_at, table.c.uid, table.c.key)
    .limit(bindparam("limit"))
)
_claim = prepared(
    update(table).where(
        table.c.uid == bindparam("b_uid"),
        table.c.key == bindparam("b_key"),
        table.c.lease_generation == bindparam("b_lease"),
    )
)
_refused = prepared(
    select(table)
    .where(
        table.c.target == bindparam("t"),
        table.c.state == "rejected",
        table.c.kind == "StartJob",
        table.c.code != CANCELLED,
        table.c.code != INVALID_SPEC,
        table.c.code != STOPPED_FIRST,
        table.c.completed_at > bindparam("since"),
    )
    .order_by(table.c.completed_at, table.c.uid, table.c.key)
)
_mine = prepared(
    update(table).where(
        table.c.uid == bindparam("b_uid"),
        table.c.key == bindparam("b_key"),
        table.c.token_hash == bindparam("b_hash"),
        table.c.lease_generation == bindparam("b_lease"),
        table.c.expires_at > bindparam("b_now"),
        OPEN,
    )
)
_change = prepared(
    update(table).where(
        table.c.uid == bindparam("b_uid"),
        table.c.key == bindparam("b_key"),
        OPEN,
    )
)
_expire = prepared(update(table).where(table.c.token_hash.is_not(None)).values(expires_at=bindparam("now")))
_hurry = prepared(
    update(table).where(
        table.c.target == bindparam("t"),
        OPEN,
        table.c.available_at > bindparam("at"),
    )
)
_next = prepared(
    select(func.min(table.c.available_at)).where(
        table.c.provider == bindparam("p"),
        OPEN,
        table.c.token_hash.is_(None),
    )
)


@dataclass(frozen=True)
class EffectClaim:
    """An effect held by one worker; `record.attempts` counts this attempt."""

    record: EffectRecord
    token: str
    lease_generation: int


def record(tx: Tx, owner: Resource[Any, Any], effect: Effect) -> EffectRecord:
    """The pending row of an effect, or the row that its key already has. Raises EffectMismatch for another request."""
    made = EffectRecord(
        uid=owner.uid,
        key=effect.key,
        owner=owner.ref,
        kind=effect.kind,
        provider=effect.provider,
        target=effect.target,
        generation=owner.generation,
        fingerprint=effect.fingerprint,
        request=effect.request,
        state="pending",
        attempts=0,
        created_at=tx.now,
        available_at=tx.now,
    )
    if tx.write(_insert, row_of(made)).rowcount:
        tx.note(EffectDue(effect.provider, tx.now))
        events.add_new(tx, owner.ref, owner.uid, Event("EffectPending", made.words))
        return made
    found = find(tx, owner.uid, effect.key)
    assert found is not None
    if found.kind != effect.kind or found.fingerprint != effect.fingerprint:
        raise EffectMismatch(
            effect.key, f"{found.kind} {found.fingerprint[:12]}", f"{effect.kind} {effect.fingerprint[:12]}"
        )
    return found


def find(tx: Tx, uid: str, key: str) -> EffectRecord | None:
    row = tx.execute(_one, {"u": uid, "k": key}).first()
    return None if row is None else record_of(row)


def of(tx: Tx, uid: str) -> tuple[EffectRecord, ...]:
    """Of one resource, oldest first."""
    return tuple(map(record_of, tx.execute(_all_of, {"u": uid})))


def open_of(tx: Tx, uid: str) -> tuple[EffectRecord, ...]:
    """The pending and indeterminate ones of one resource."""
    return tuple(map(record_of, tx.execute(_open_of, {"u": uid})))


def refused_by(tx: Tx, target: str, since: float) -> tuple[EffectRecord, ...]:
    """Starts that a node refused after that instant, oldest first."""
    return tuple(map(record_of, tx.execute(_refused, {"t": target, "since": since})))


def any_open(tx: Tx, uid: str) -> bool:
    """Whether a resource has a pending or indeterminate one."""
    return bool(tx.execute(_any_open, {"u": uid}).scalar_one())


def list_all(tx: Tx, limit: int = 1000) -> tuple[EffectRecord, ...]:
    """Newest first."""
    return tuple(map(record_of, tx.execute(_all.limit(limit))))


def claim(
    tx: Tx, provider: str, *, limit: int, token: Callable[[], str], lease: float = LEASE_SECONDS
) -> tuple[EffectClaim, ...]:
    """Take due effects of a provider, oldest first; each is one more attempt. A row that cannot be read waits apart."""
    claims, rows = [], []
    for row in tx.execute(_due, {"p": provider, "now": tx.now, "limit": limit}).all():
        try:
            found = record_of(row)
        except ValueError:
            tx.write(_change, {"b_uid": row.uid, "b_key": row.key, "available_at": tx.now + UNREADABLE_SECONDS})
            continue
        raw = token()
        rows.append(
            {
                "b_uid": row.uid,
                "b_key": row.key,
                "b_lease": row.lease_generation,
                "token_hash": hashed(raw),
                "expires_at": tx.now + lease,
                "lease_generation": row.lease_generation + 1,
                "attempts": row.attempts + 1,
                "started_at": tx.now,
            }
        )
        taken = changed(found, attempts=row.attempts + 1, started_at=tx.now)
        claims.append(EffectClaim(taken, raw, row.lease_generation + 1))
    if rows:
        tx.write(_claim, rows)
    return tuple(claims)


def answer(tx: Tx, claim: EffectClaim, answer: Answer | Observation) -> EffectRecord:
    """Write what the driver said.

    Final states never change: the statement that writes guards them. Raises ClaimLost.
    """
    match answer:
        case Applied(ref=ref):
            values: dict[str, Any] = {"state": "applied", "external_ref": ref, "completed_at": tx.now, "error": None}
        case Rejected(error=error, code=code):
            values = {"state": "rejected", "error": bounded(error), "code": code, "completed_at": tx.now}
        case Deferred(reason=reason, retry_after=after):
            values = {"state": "pending", "error": bounded(reason), "available_at": tx.now + after}
        case Unknown(reason=reason):
            values = {"state": "indeterminate", "error": bounded(reason), "available_at": tx.now + UNSURE_SECONDS}
        case Absent():
            values = {"state": "pending", "available_at": tx.now}
    stored = _finish(tx, claim, values)
    tx.note(Answered(stored.kind, stored.state, stored.code or ""))
    if not stored.final:
        tx.note(EffectDue(stored.provider, stored.available_at))
    return stored


def cancel(tx: Tx, claim: EffectClaim) -> EffectRecord:
    """An effect that did not happen and is no longer wanted."""
    return answer(tx, claim, Rejected(UNWANTED, code="cancelled"))


def unwant(tx: Tx, uid: str, key: str) -> None:
    """An effect is no longer wanted: one never tried is rejected at once, one tried is observed first."""
    found = find(tx, uid, key)
    if found is None or found.final:
        return
    if found.attempts:
        values: dict[str, Any] = {"cancelled": 1, "available_at": tx.now}
    else:
        values = {"cancelled": 1, "state": "rejected", "code": "cancelled", "error": UNWANTED, "completed_at": tx.now}
    tx.write(_change, {"b_uid": uid, "b_key": key, **values})
    tx.note(EffectDue(found.provider, tx.now))


def let_go(tx: Tx, claim: EffectClaim, delay: float) -> None:
    """The record as it was; due again after `delay` seconds."""
    _finish(tx, claim, {"available_at": tx.now + delay})
    tx.note(EffectDue(claim.record.provider, tx.now + delay))


def hurry(tx: Tx, target: str) -> None:
    """What waits for a target is due now: the target came back."""
    tx.write(_hurry, {"t": target, "at": tx.now, "available_at": tx.now})


def expire_all(tx: Tx) -> None:
    """Claims of a server that is gone run out now. Only the holder of the folder's lock may say so."""
    tx.write(_expire, {"now": tx.now})


def next_due(tx: Tx, provider: str) -> float | None:
    """When the next unclaimed effect of a provider is due. A lease that runs out is found by looking again."""
    at: float | None = tx.execute(_next, {"p": provider}).scalar_one_or_none()
    return at


def _finish(tx: Tx, claim: EffectClaim, values: dict[str, Any]) -> EffectRecord:
    """The record as it is now. While a claim holds, nobody else writes but that the effect is no longer wanted."""
    held = {
        "b_uid": claim.record.uid,
        "b_key": claim.record.key,
        "b_hash": hashed(claim.token),
        "b_lease": claim.lease_generation,
        "b_now": tx.now,
        "token_hash": None,
        "expires_at": None,
    }
    if tx.write(_mine, {**held, **values}).rowcount == 0:
        raise ClaimLost(claim.record.id)
    return changed(claim.record, **values)
