"""The one sentence that says why a job has no place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from placement.filters import Rejection

ARCHIVED = "the pool is archived"
NO_NODES = "the pool has no nodes"
MOST_GROUPS = 5
MOST_REASONS = 20
"""How many groups a record keeps."""


def counts(rejections: Iterable[Rejection]) -> dict[str, int]:
    """Nodes by printed reason, the most common first, equal ones by text."""
    return ordered(Counter(rejection.text for rejection in rejections))


def ordered(groups: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(groups.items(), key=lambda group: (-group[1], group[0])))


def refused_by(groups: Mapping[str, int], nodes: int) -> str:
    """`no node fits (3 nodes): 2 × labels: gpu; 1 × cordoned`; at most five groups, the header counts all nodes."""
    told = list(ordered(groups).items())[:MOST_GROUPS]
    return f"no node fits ({nodes} nodes): " + "; ".join(f"{count} × {text}" for text, count in told)


def after_lost_races(attempts: int, reason: str) -> str:
    """What a request that lost every race is told: the last race's reason."""
    return f"Unschedulable after {attempts} conflicting attempts: {reason}"
