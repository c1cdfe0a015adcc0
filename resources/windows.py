"""What is held of one thing over time: half-open windows, and the most that is held in one of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Hold(NamedTuple):
    """An amount held from `start` until before `end`; None: from ever, for ever.

    `reservation` is the one that holds it; `inside`: a job does, which takes it from what that reservation holds.
    """

    amount: int
    start: float | None = None
    end: float | None = None
    reservation: str | None = None
    inside: bool = False


def overlap(start: float | None, end: float | None, first: float | None, last: float | None) -> bool:
    """Whether two half-open windows have an instant in common."""
    ended = end is not None and first is not None and end <= first
    later = start is not None and last is not None and start >= last
    return not ended and not later


def lasting(end: float | None, now: float | None) -> float | None:
    """The end of what a job holds: once it is over, the job is there until it is known to have gone."""
    return None if end is not None and now is not None and end <= now else end


def held_at(holds: Iterable[Hold], at: float) -> int:
    """What is held at one instant."""
    return _at([hold for hold in holds if _covers(hold, at)])


def peak(holds: Iterable[Hold], start: float | None, end: float | None) -> int:
    """The most that is held at one instant of the window; what jobs take from a reservation counts once."""
    there = [hold for hold in holds if overlap(hold.start, hold.end, start, end)]
    instants = {start, *(hold.start for hold in there if _within(hold.start, start))}
    return max(_at([hold for hold in there if _covers(hold, at)]) for at in instants)


def _within(at: float | None, start: float | None) -> bool:
    return at is not None and (start is None or at > start)


def _covers(hold: Hold, at: float | None) -> bool:
    """`at` None is before every instant."""
    begun = hold.start is None or (at is not None and hold.start <= at)
    return begun and (hold.end is None or at is None or hold.end > at)


def _at(holds: Iterable[Hold]) -> int:
    total = 0
    own: dict[str, int] = {}
    inside: dict[str, int] = {}
    for hold in holds:
        if hold.reservation is None:
            total += hold.amount
        else:
            part = inside if hold.inside else own
            part[hold.reservation] = part.get(hold.reservation, 0) + hold.amount
    return total + sum(max(own.get(name, 0), inside.get(name, 0)) for name in own.keys() | inside.keys())
