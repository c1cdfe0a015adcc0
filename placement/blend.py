"""Packing and topology of one node as a single number that orders nodes of a class as their keys do."""

from __future__ import annotations

from typing import NamedTuple

from placement.fullness import SCALE
from placement.ranking import Ranking

DYNAMIC = ("packing", "topology")
"""Criteria that differ between the nodes of one class."""


class Blend(NamedTuple):
    """By level the weights of packing and of topology, and how many sums come below each: digits of a mixed radix."""

    weights: tuple[tuple[int, int], ...]
    below: tuple[int, ...]

    def measure(self, packing: int, topology: int) -> int:
        levels = zip(self.weights, self.below, strict=True)
        return sum(
            (for_packing * packing + for_topology * topology) * below for (for_packing, for_topology), below in levels
        )

    def parts(self, measure: int) -> tuple[int, ...]:
        """What it adds to each level of a key."""
        found = []
        for below in self.below:
            part, measure = divmod(measure, below)
            found.append(part)
        return tuple(found)


def blend_of(ranking: Ranking) -> Blend | None:
    """None for a ranking that knows no topology: packing then speaks for itself."""
    weights = tuple(_weights(level) for level in ranking.levels)
    if not any(for_topology for _, for_topology in weights):
        return None
    below, product = [], 1
    for for_packing, for_topology in reversed(weights):
        below.append(product)
        product *= (for_packing + for_topology) * SCALE + 1
    return Blend(weights, tuple(reversed(below)))


def _weights(level: tuple[tuple[str, int], ...]) -> tuple[int, int]:
    found = dict.fromkeys(DYNAMIC, 0)
    for name, weight in level:
        if name in found:
            found[name] += weight
    return found["packing"], found["topology"]
