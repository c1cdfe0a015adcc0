"""How full a node would be, from 0 to SCALE, in whole numbers."""

from __future__ import annotations

SCALE = 1 << 20

Figures = tuple[int, ...]
"""By resource, then by class of device; maybe without those that nobody looks at."""


def fullness(asked: Figures, used: Figures, capacity: Figures) -> int:
    """Rounded down once, at the end: equal means are equal measures. Only where what is asked fits; 0 for nothing."""
    over, under, count = 0, 1, 0
    for want, taken, most in zip(asked, used, capacity, strict=True):
        if want:
            over = over * most + (taken + want) * under
            under *= most
            count += 1
    return over * SCALE // (under * count) if count else 0
