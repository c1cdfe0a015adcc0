"""What is held of a node for a time: what reservations hold, and jobs within them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, select, text, update

from resources.allocation import Allocation
from resources.devices import WHOLE
from resources.windows import Hold, lasting, peak
from store.allocation_rows import read
from store.statements import prepared
from store.tables import TIMED, allocations, device_bookings, node_scalars
from store.tx import Tx

AMOUNTS = {"vcpu": "capacity_milli", "cores": "cores", "memory": "memory_mib"}

_of = ("uid", "kind", "inside", "starts_at", "ends_at")
_timed = prepared(
    select(*(allocations.c[name] for name in (*_of, *AMOUNTS.values())))
    .where(allocations.c.node == bindparam("n"), text(f"({TIMED})"))
    .order_by(allocations.c.id)
)
_joined = device_bookings.outerjoin(allocations, allocations.c.id == device_bookings.c.allocation)
_booked = prepared(
    select(
        device_bookings.c.device,
        device_bookings.c.units,
        device_bookings.c.starts_at,
        device_bookings.c.ends_at,
        allocations.c.uid,
        allocations.c.kind,
        allocations.c.inside,
    )
    .select_from(_joined)
    .where(device_bookings.c.node == bindparam("n"))
)
_within = (allocations.c.inside == bindparam("u"), allocations.c.node == bindparam("n"))
_users = prepared(select(allocations).where(*_within).order_by(allocations.c.id))
_until = prepared(update(allocations).where(*_within).values(ends_at=bindparam("e")))
_book_until = prepared(
    update(device_bookings).where(device_bookings.c.allocation == bindparam("a")).values(ends_at=bindparam("e"))
)
_scalars = prepared(select(node_scalars).where(node_scalars.c.node == bindparam("n")))


def taking(tx: Tx, allocation: Allocation) -> dict[str, int]:
    """By resource, what must be free beside all that is on record for this allocation to be let in.

    Its amount, less what others hold at other times only, or within the same reservation.
    """
    start, end, at_once = window(allocation, tx.now)
    rows = tx.execute(_timed, {"n": allocation.node}).all()
    found = {}
    for resource, column in AMOUNTS.items():
        amount: int = getattr(allocation, column)
        if amount and rows:
            holds = [_hold(row, getattr(row, column), tx.now if at_once else None) for row in rows]
            own = allocation.hold(amount)._replace(start=start)
            found[resource] = peak([*holds, own], start, end) - sum(getattr(row, column) for row in rows)
        else:
            found[resource] = amount
    return found


def units(tx: Tx, allocation: Allocation) -> Mapping[str, int]:
    """By device that it books, the most that would be booked of it at once in its window."""
    start, end, at_once = window(allocation, tx.now)
    holds: dict[str, list[Hold]] = {
        one.device: [allocation.hold(one.units)._replace(start=start)] for one in allocation.devices
    }
    for row in tx.execute(_booked, {"n": allocation.node}).all():
        if row.device in holds:
            holds[row.device].append(_hold(row, row.units, tx.now if at_once else None))
    return {device: peak(found, start, end) for device, found in holds.items()}


def promised(tx: Tx, node: str) -> dict[str, tuple[int, int]]:
    """Resource to (claimable, the most that is held at once from now on)."""
    rows = tx.execute(_timed, {"n": node}).all()
    found = {}
    for scalar in tx.execute(_scalars, {"n": node}):
        column = AMOUNTS.get(scalar.resource)
        amounts = [getattr(row, column) for row in rows] if column else []
        holds = [_hold(row, amount, tx.now) for row, amount in zip(rows, amounts, strict=False)]
        most = scalar.allocated - sum(amounts) + peak(holds, tx.now, None)
        found[scalar.resource] = (scalar.capacity, most)
    return found


def prolong(tx: Tx, made: Allocation) -> tuple[Allocation, ...]:
    """Jobs within a reservation that is booked anew stay for as long as it does.

    What it holds any of must be enough for all of them, and what they take beside it must be free for that long.
    """
    here = {"u": made.uid, "n": made.node}
    users = () if made.owner.kind == "job" else tuple(map(read, tx.execute(_users, here).all()))
    if not users or not _covers(made, users) or not _free_as_long(tx, made):
        return ()
    tx.write(_until, {**here, "e": made.ends_at})
    for user in users:
        tx.write(_book_until, {"a": user.id, "e": made.ends_at})
    return tuple(replace(user, ends_at=made.ends_at) for user in users)


def _covers(made: Allocation, users: Iterable[Allocation]) -> bool:
    """Whether a booking holds all that these hold together, of each thing that it holds at all."""
    asked: dict[str, int] = {}
    for user in users:
        for column in AMOUNTS.values():
            asked[column] = asked.get(column, 0) + getattr(user, column)
        for one in user.devices:
            asked[f"device {one.device}"] = asked.get(f"device {one.device}", 0) + one.units
    has = {column: getattr(made, column) for column in AMOUNTS.values() if getattr(made, column)}
    has |= {f"device {one.device}": one.units for one in made.devices}
    held = {name for name in asked if name in has or (made.devices and name.startswith("device "))}
    return all(has.get(name, 0) >= asked[name] for name in held)


def _free_as_long(tx: Tx, made: Allocation) -> bool:
    """Whether the node has room for everything that is on record there, if jobs within this booking end with it."""
    here = {"n": made.node}

    def hold(row: Any, amount: int) -> Hold:
        found = _hold(row, amount, tx.now)
        return found._replace(end=made.ends_at) if row.inside == made.uid else found

    rows = tx.execute(_timed, here).all()
    for scalar in tx.execute(_scalars, here).all():
        column = AMOUNTS.get(scalar.resource)
        amounts = [getattr(row, column) for row in rows] if column else []
        holds = [hold(row, amount) for row, amount in zip(rows, amounts, strict=False)]
        if scalar.allocated - sum(amounts) + peak(holds, tx.now, None) > scalar.capacity:
            return False
    booked: dict[str, list[Hold]] = {}
    for row in tx.execute(_booked, here).all():
        booked.setdefault(row.device, []).append(hold(row, row.units))
    return all(peak(holds, tx.now, None) <= WHOLE for holds in booked.values())


def window(allocation: Allocation, now: float) -> tuple[float, float | None, bool]:
    """Start, end, and whether it begins at once."""
    start = now if allocation.starts_at is None else allocation.starts_at
    if not allocation.timed:
        return start, None, True
    return start, allocation.ends_at, allocation.inside is not None or start <= now


def _hold(row: Any, amount: int, now: float | None) -> Hold:
    """`now` for whoever begins at once: a job whose time is over is still there. Bookings of jobs have no end else."""
    inside = row.inside is not None
    reservation = row.inside if inside else row.uid if row.kind == "reservation" else None
    end = lasting(row.ends_at, now) if inside else row.ends_at
    if reservation is None and end is None:
        return Hold(amount)
    return Hold(amount, row.starts_at, end, reservation, inside)
