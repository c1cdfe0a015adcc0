"""The brake on losses: when too many nodes of a pool are silent at once, none of them is given up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from resources.node import Node
from resources.pool import Brake

RECENT_SECONDS = 600.0
"""A node counts as part of a mass loss for this long after it was declared lost; older losses are history."""


@dataclass(frozen=True)
class Silence:
    """How many nodes of a pool there are, and which of them are silent now or were lost just now."""

    nodes: int
    silent: tuple[str, ...]
    how: str = "silent"

    def holds(self, brake: Brake) -> bool:
        return len(self.silent) >= brake.min_nodes and len(self.silent) > brake.lost_fraction * self.nodes

    def told(self, pool: str) -> str:
        return f"{len(self.silent)} of {self.nodes} nodes of pool {pool} are {self.how}"


def silence(nodes: Iterable[Node], now: float) -> Silence:
    """A node that a person gave up is no sign of anything."""
    listed = list(nodes)
    silent = [n.name for n in listed if _silent(n, now)]
    return Silence(len(listed), tuple(sorted(silent)))


def unhealthy(nodes: Iterable[Node]) -> Silence:
    """Nodes that are kept out of placements, whose number may say that they are not to blame."""
    listed = list(nodes)
    out = [node.name for node in listed if node.status.unhealthy is not None and not node.deleting]
    return Silence(len(listed), tuple(sorted(out)), "unhealthy")


def _silent(node: Node, now: float) -> bool:
    status = node.status
    if status.given_up or node.deleting:
        return False
    recently = status.lost_at is not None and now - status.lost_at < RECENT_SECONDS
    return status.phase == "silent" or (status.phase == "lost" and recently)
