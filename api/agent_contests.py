"""Agents that push each other out: two of them with one credential, as a copied folder makes them."""

from __future__ import annotations

from collections import defaultdict, deque

OFTEN, WITHIN_SECONDS = 5, 60.0
"""One agent that lost its connection comes back over a stream that still looks open, and stays."""
CONTESTED = (
    "connects again and again while it is connected: two agents use its credential. Stop one, or give it an empty "
    "folder and a name of its own: rmctl node join NAME"
)


class Contests:
    """Of each node, whether a stream of it is open, and when another one took its place."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._taken: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=OFTEN))

    def opened(self, node: str, now: float) -> bool:
        """Whether it took the place of an open one, as others did often and shortly before."""
        if node not in self._open:
            self._open.add(node)
            return False
        taken = self._taken[node]
        taken.append(now)
        often = len(taken) == OFTEN and 0 <= now - taken[0] <= WITHIN_SECONDS
        if often:
            taken.clear()
        return often

    def closed(self, node: str) -> None:
        self._open.discard(node)
