"""The geometry of a capacity bar: what is claimed, what is free, and what the node keeps to itself."""

from __future__ import annotations

from typing import NamedTuple

WIDTH = 240.0
HEIGHT = 14


class Part(NamedTuple):
    """`x` and `width` in the bar's own units; `kind` is claimed, free or kept."""

    kind: str
    x: float
    width: float


class Bar(NamedTuple):
    """`label` says the same in words."""

    parts: tuple[Part, ...]
    label: str
    width: float = WIDTH
    height: int = HEIGHT


def bar(total: float, cap: float, claimed: float, label: str) -> Bar:
    """Amounts in one unit, `claimed` and `cap` at most `total`; what is over is drawn to the end."""
    whole = max(total, cap, claimed, 0.0)
    if whole == 0:
        return Bar((Part("kept", 0.0, WIDTH),), label)
    edges = (0.0, min(claimed, whole), max(min(cap, whole), min(claimed, whole)), whole)
    at = [round(edge / whole * WIDTH, 1) for edge in edges]
    parts = zip(("claimed", "free", "kept"), at, at[1:], strict=False)
    return Bar(tuple(Part(kind, x, round(end - x, 1)) for kind, x, end in parts if end > x), label)
