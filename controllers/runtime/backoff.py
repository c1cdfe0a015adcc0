"""How long a failing key waits: doubling, capped, with jitter."""

from __future__ import annotations

from typing import Protocol

FIRST_SECONDS = 1.0
CAP_SECONDS = 60.0
MAX_EXPONENT = 30


class Draws(Protocol):
    def uniform(self, a: float, b: float) -> float: ...


def backoff(errors: int, random: Draws) -> float:
    """Seconds after the nth error in a row (1 s × 2ⁿ⁻¹, cap 60 s, then a factor in [0.8, 1.2])."""
    exponent = min(max(errors - 1, 0), MAX_EXPONENT)
    return min(FIRST_SECONDS * 2.0**exponent, CAP_SECONDS) * random.uniform(0.8, 1.2)
