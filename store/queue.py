"""The queue: one row a key, claimed by one worker at a time, and no wake lost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Row, bindparam, case, delete, func, literal_column, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from resources.reference import Ref
from resources.registry import BUILT_IN
from store.errors import ClaimLost
from store.notes import Woken
from store.statements import prepared
from store.tables import queue as table
from store.tx import Tx

LEASE_SECONDS = 120.0
MIN_LEASE_SECONDS = 0.3
FAILING_SECONDS = 1.0
"""A failing key runs at most this often, whatever wakes it."""
RERUNS = 5
"""Conflicts in a row that rerun at once; the next one counts as an error."""
HERE, DEFINED = 0, 1  # lanes: built-in kinds, and kinds that files define
HEAD_STARTS = {"interruption": 120.0, "drain": 60.0}
"""Seconds by which keys of these kinds go before others that are due; who has waited longer than that comes first."""

Backoff = Callable[[int], float]
"""From the count of consecutive errors to seconds."""


@dataclass(frozen=True)
class Claim:
    """A key held until `expires_at`. The raw token stays with its worker; the store keeps its hash."""

    ref: Ref
    token: str
    lease_generation: int
    wakes: int
    errors: int
    conflicts: int
    expires_at: float
    due_since: float

    @cached_property
    def token_hash(self) -> str:
        return hashed(self.token)


_key = (table.c.kind == bindparam("k"), table.c.project == bindparam("p"), table.c.name == bindparam("n"))
_put = insert(table).values(
    kind=bindparam("k"),
    project=bindparam("p"),
    name=bindparam("n"),
    available_at=bindparam("at"),
    enqueued_at=bindparam("now"),
    wakes=1,
    errors=0,
    conflicts=0,
    lease_generation=0,
    lane=bindparam("lane"),
)
_enqueue = prepared(
    _put.on_conflict_do_update(
        index_elements=["kind", "project", "name"],
        set_={
            "available_at": case(
                (table.c.errors == 0, func.min(table.c.available_at, _put.excluded.available_at)),
                else_=func.min(
                    table.c.available_at,
                    func.max(_put.excluded.available_at, func.coalesce(table.c.last_run_at, 0) + FAILING_SECONDS),
                ),
            ),
            "wakes": table.c.wakes + 1,
        },
    )
)
_takeable = (
    select(table)
    .where(
        table.c.available_at <= bindparam("now"),
        or_(table.c.token_hash.is_(None), table.c.expires_at <= bindparam("now")),
    )
    .limit(bindparam("limit"))
)
_due = prepared(_takeable.where(table.c.lane == bindparam("lane")).order_by(table.c.available_at))
_urgent = prepared(  # few at any time: found by the primary key, whatever else waits
    _takeable.where(or_(*(table.c.kind == literal_column(f"'{kind}'") for kind in HEAD_STARTS))).order_by(
        table.c.available_at - case(HEAD_STARTS, value=table.c.kind, else_=0.0)
    )
)
_claim = prepared(
    update(table)
    .where(
        table.c.kind == bindparam("k"),
        table.c.project == bindparam("p"),
        table.c.name == bindparam("n"),
        table.c.lease_generation == bindparam("g"),
    )
    .values(
        token_hash=bindparam("hash"),
        expires_at=bindparam("expires"),
        lease_generation=table.c.lease_generation + 1,
        claimed_wakes=table.c.wakes,
        last_run_at=bindparam("at"),
    )
)
_mine = (
    *_key,
    table.c.token_hash == bindparam("hash"),
    table.c.lease_generation == bindparam("g"),
    table.c.expires_at > bindparam("now"),
)
_held = prepared(select(table.c.wakes).where(*_mine))
_renew = prepared(update(table).where(*_mine).values(expires_at=bindparam("expires")))
_settle = prepared(delete(table).where(*_mine, table.c.wakes == bindparam("w")))
_release = prepared(
    update(table)
    .where(*_mine)
    .values(
        token_hash=None,
        expires_at=None,
        claimed_wakes=None,
        errors=bindparam("e"),
        conflicts=bindparam("c"),
        available_at=bindparam("at"),
        enqueued_at=bindparam("since"),
    )
)
_expire = prepared(update(table).where(table.c.token_hash.is_not(None)).values(expires_at=bindparam("now")))
_listed = select(*(c for c in table.c if c.name not in ("token_hash", "lane"))).order_by(table.c.available_at)
_remove = prepared(delete(table).where(*_key))
_next = prepared(
    select(func.min(table.c.available_at)).where(table.c.lane == bindparam("lane"), table.c.token_hash.is_(None))
)


def enqueue(tx: Tx, ref: Ref, at: float | None = None) -> None:
    """Wake a key: due at the earlier of both times, one more wake; a claim is never touched."""
    due = tx.now if at is None else at
    tx.write(_enqueue, {**_names(ref), "at": due, "now": due, "lane": lane_of(ref)})
    tx.note(Woken(ref, due))


def claim(
    tx: Tx,
    *,
    limit: int,
    token: Callable[[], str],
    backoff: Backoff,
    lease: float = LEASE_SECONDS,
    lane: int = HERE,
    choose: Callable[[Tx, int, int], list[Row[Any]]] | None = None,
) -> tuple[Claim, ...]:
    """Take up to `limit` due keys of a lane, oldest first but for a head start or as `choose` finds them.

    A row whose lease ran out gets its error and backoff, no run. Raises ValueError for a lease under 0.3 s or no limit.
    """
    if lease < MIN_LEASE_SECONDS or limit < 1:
        raise ValueError(f"a lease of at least {MIN_LEASE_SECONDS} s and a limit of at least 1 are needed")
    taken, expires = list[Claim](), tx.now + lease
    for row in (choose or _in_turn)(tx, limit, lane):
        ref = Ref(row.kind, row.name, row.project)
        if row.token_hash is not None:
            _back_off_expired(tx, row, backoff)
        else:
            lease_generation = row.lease_generation + 1
            held = (row.wakes, row.errors, row.conflicts, expires, row.available_at)
            taken.append(Claim(ref, token(), lease_generation, *held))
    if taken:
        more = {"expires": expires, "at": tx.now}
        tx.write(_claim, [{**_fence(tx, one), "g": one.lease_generation - 1, **more} for one in taken])
    return tuple(taken)


def _in_turn(tx: Tx, limit: int, lane: int) -> list[Row[Any]]:
    """Who has a head start is looked for apart only where more is due than is asked for."""
    rows: list[Row[Any]] = tx.execute(_due, given := {"now": tx.now, "limit": limit, "lane": lane}).all()
    if lane == HERE and len(rows) == limit and (urgent := tx.execute(_urgent, given).all()):
        rows = list({(row.kind, row.project, row.name): row for row in (*urgent, *rows)}.values())
    if any(row.kind in HEAD_STARTS for row in rows):
        rows.sort(key=lambda row: row.available_at - HEAD_STARTS.get(row.kind, 0.0))
    return rows[:limit]


def _back_off_expired(tx: Tx, row: Row[Any], backoff: Backoff) -> None:
    """As `fail` would have done: an event since the claim pulls the delay forward."""
    ref = Ref(row.kind, row.name, row.project)
    at = tx.now + _wait(backoff(row.errors + 1), woken=row.wakes != row.claimed_wakes)
    tx.write(
        update(table)
        .where(*_key, table.c.lease_generation == row.lease_generation)
        .values(
            token_hash=None,
            expires_at=None,
            claimed_wakes=None,
            errors=row.errors + 1,
            available_at=at,
            lease_generation=row.lease_generation + 1,
        ),
        _names(ref),
    )
    tx.note(Woken(ref, at))


def hold(tx: Tx, claim: Claim) -> int:
    """The wake count of a claim that is still held. Raises ClaimLost: then nothing of the pass may be written."""
    wakes = tx.execute(_held, _fence(tx, claim)).scalar_one_or_none()
    if wakes is None:
        raise ClaimLost(claim.ref)
    return int(wakes)


def renew(tx: Tx, claim: Claim, lease: float = LEASE_SECONDS) -> None:
    """Raises ClaimLost for one that expired."""
    if tx.write(_renew, {**_fence(tx, claim), "expires": tx.now + lease}).rowcount == 0:
        raise ClaimLost(claim.ref)


def settle(tx: Tx, claim: Claim) -> None:
    """Done: the row goes, unless it was woken since the claim; then it is due now."""
    if tx.write(_settle, {**_fence(tx, claim), "w": claim.wakes}).rowcount == 0:
        hold(tx, claim)
        _let_go(tx, claim, at=tx.now, errors=0, conflicts=0)


def requeue(tx: Tx, claim: Claim, delay: float) -> None:
    """Due again after `delay` seconds, or now if it was woken since the claim."""
    wakes = hold(tx, claim)
    _let_go(tx, claim, at=tx.now + (delay if wakes == claim.wakes else 0.0), errors=0, conflicts=0)


def fail(tx: Tx, claim: Claim, delay: float, *, conflicts: int = 0) -> None:
    """One more error. It waits for a second at least, and no longer where an event came since the claim."""
    wait = _wait(delay, woken=hold(tx, claim) != claim.wakes)
    _let_go(tx, claim, at=tx.now + wait, errors=claim.errors + 1, conflicts=conflicts)


def _wait(delay: float, *, woken: bool) -> float:
    return FAILING_SECONDS if woken else max(delay, FAILING_SECONDS)


def rerun(tx: Tx, claim: Claim, delay: float) -> None:
    """After a conflict: at once the first five times in a row, from then on as an error with `delay`."""
    conflicts = claim.conflicts + 1
    if conflicts > RERUNS:
        fail(tx, claim, delay, conflicts=conflicts)
    else:
        _let_go(tx, claim, at=tx.now, errors=claim.errors, conflicts=conflicts)


def release(tx: Tx, claim: Claim) -> None:
    """A clean stop: due now, nothing counted."""
    _let_go(tx, claim, at=tx.now, errors=claim.errors, conflicts=claim.conflicts)


def expire_all(tx: Tx) -> None:
    """Claims of a server that is gone run out now. Only the holder of the folder's lock may say so."""
    tx.write(_expire, {"now": tx.now})


def remove(tx: Tx, ref: Ref) -> None:
    tx.write(_remove, _names(ref))


def lane_of(ref: Ref) -> int:
    return HERE if ref.kind in BUILT_IN or ref.kind in HEAD_STARTS else DEFINED


def next_due(tx: Tx, lane: int = HERE) -> float | None:
    """When the next unclaimed key is due. A lease that runs out is found by looking again."""
    at: float | None = tx.execute(_next, {"lane": lane}).scalar_one_or_none()
    return at


def list_all(tx: Tx) -> tuple[Row[Any], ...]:
    """Every row by due time, without its token's hash and its lane."""
    return tuple(tx.execute(_listed))


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _let_go(tx: Tx, claim: Claim, *, at: float, errors: int, conflicts: int) -> None:
    if tx.write(_release, {**_fence(tx, claim), "at": at, "since": at, "e": errors, "c": conflicts}).rowcount == 0:
        raise ClaimLost(claim.ref)
    tx.note(Woken(claim.ref, at))


def _names(ref: Ref) -> dict[str, Any]:
    return {"k": ref.kind, "p": ref.project, "n": ref.name}


def _fence(tx: Tx, claim: Claim) -> dict[str, Any]:
    return {**_names(claim.ref), "hash": claim.token_hash, "g": claim.lease_generation, "now": tx.now}
