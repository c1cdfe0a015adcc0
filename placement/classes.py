"""What the index takes for alike: classes of nodes, and buckets of equal amounts within a class."""

from __future__ import annotations

from enum import Enum

from placement.fullness import Figures
from placement.node import NodeView

BucketKey = tuple[str, Figures, Figures, int]
"""What refuses it though there is room ("" if nothing), capacity, used, topology; amounts that the shelf ignores are
nothing. Who asks may hold the node himself, so those are looked at one by one."""


class State(Enum):
    """What the claims on a node mean to a job that wants company, or none."""

    EMPTY = 0
    SHARED = 1
    HELD = 2


class NodeClass:
    """Nodes that are alike in everything but amounts, ports and name.

    The exemplar has the facts that they share, and neither name nor claims nor labels; `matched` are the label
    requirements that they meet, of those that were ever asked.
    """

    __slots__ = ("exemplar", "matched", "state")

    def __init__(self, exemplar: NodeView, matched: frozenset[tuple[str, str]], state: State) -> None:
        self.exemplar = exemplar
        self.matched = matched
        self.state = state
