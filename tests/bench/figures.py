"""A figure beside its goal, and the two-sided timing that makes it a ratio of one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Figure(NamedTuple):
    """`ok` None: there is no goal for it."""

    name: str
    figure: str
    goal: str
    ok: bool | None


def rate(work: Callable[[], int]) -> float:
    """Operations a second of one call, which returns how many it did."""
    began = time.perf_counter()
    done = work()
    return done / (time.perf_counter() - began)


def interleaved(rounds: int, *sides: Callable[[], int]) -> list[float]:
    """The median rate of each side, the sides taking turns, so that a busy neighbour hits all of them."""
    rates: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for number, side in enumerate(sides):
            rates[number].append(rate(side))
    return [sorted(found)[len(found) // 2] for found in rates]


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
