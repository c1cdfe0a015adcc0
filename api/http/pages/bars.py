"""The geometry of pictures: a bar of what is claimed and by whom, and an hour with the restarts in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WIDTH = 240.0
HEIGHT = 14
GAP = 1.0
HOUR = 3600.0
HOUR_WIDTH = 480.0
MINUTES = (60, 45, 30, 15, 0)


class Part(NamedTuple):
    """`x` and `width` in the bar's own units; `kind` is claimed, free or kept; `label` says whose it is."""

    kind: str
    x: float
    width: float
    label: str = ""


class Bar(NamedTuple):
    """`label` says the same in words."""

    parts: tuple[Part, ...]
    label: str
    width: float = WIDTH
    height: int = HEIGHT


class Claimed(NamedTuple):
    """What one job holds, and how it is called."""

    amount: float
    label: str


def bar(total: float, cap: float, claimed: float, label: str, claims: Sequence[Claimed] = ()) -> Bar:
    """Amounts in one unit, `claimed` and `cap` at most `total`; what is over is drawn to the end.

    `claims` are drawn one beside the other, as long as they add up to what is claimed.
    """
    whole = max(total, cap, claimed, 0.0)
    if whole == 0:
        return Bar((Part("kept", 0.0, WIDTH),), label)
    edges = (0.0, min(claimed, whole), max(min(cap, whole), min(claimed, whole)), whole)
    at = [round(edge / whole * WIDTH, 1) for edge in edges]
    parts = [
        Part(kind, x, round(end - x, 1)) for kind, x, end in zip(("claimed", "free", "kept"), at, at[1:], strict=False)
    ]
    if abs(sum(one.amount for one in claims) - claimed) < 0.001 and claims:
        parts[:1] = _each(claims, whole)
    return Bar(tuple(part for part in parts if part.width > 0), label)


def _each(claims: Sequence[Claimed], whole: float) -> list[Part]:
    found, x = [], 0.0
    for one in claims:
        wide = one.amount / whole * WIDTH
        gap = GAP if wide > 2 * GAP else 0.0
        found.append(Part("claimed", round(x, 1), round(wide - gap, 1), one.label))
        x += wide
    return found


class Mark(NamedTuple):
    x: float
    label: str


class Hour(NamedTuple):
    """The last hour from left to right: a mark for each restart, a scale in minutes, and the same in words."""

    marks: tuple[Mark, ...]
    scale: tuple[Mark, ...]
    label: str
    width: float = HOUR_WIDTH
    height: int = 34


def hour(restarts: Sequence[float], now: float, ceiling: int) -> Hour | None:
    """None when there was none. `restarts` are unix seconds."""
    inside = [at for at in sorted(restarts) if 0 <= now - at <= HOUR]
    if not inside:
        return None
    marks = tuple(Mark(round((1 - (now - at) / HOUR) * HOUR_WIDTH, 1), _ago(now - at)) for at in inside)
    scale = tuple(
        Mark(round((1 - minutes / 60) * HOUR_WIDTH, 1), f"-{minutes}m" if minutes else "now") for minutes in MINUTES
    )
    times = ", ".join(mark.label for mark in marks)
    return Hour(marks, scale, f"{len(inside)} of {ceiling} restarts in the last hour: {times}")


def _ago(seconds: float) -> str:
    return f"{int(seconds // 60)}m ago" if seconds >= 60 else f"{int(seconds)}s ago"
