"""What a shelf does not know of a node with room: who asks, taken ports, the word of a plugin."""

from __future__ import annotations

from collections.abc import Mapping

from placement.node import NodeView
from placement.plugins import Run
from placement.request import Request
from placement.wording import printed, taken


class Unfit:
    """Whether a node with room is not to be taken: special nodes, excluded ones, and those with a port taken.

    `filters` are those of plugins.
    """

    __slots__ = ("blocked", "filters", "members", "ports", "request", "skip")

    def __init__(
        self,
        request: Request,
        skip: frozenset[str],
        ports: frozenset[str],
        members: Mapping[str, NodeView],
        filters: Run | None,
    ) -> None:
        self.request = request
        self.filters = filters
        self.skip = skip
        self.ports = ports
        self.members = members
        self.blocked = 0

    def __call__(self, name: str) -> bool:
        if name in self.skip:
            return True
        node = self.members[name]
        if not self.ports.isdisjoint(node.taken_ports):
            self.blocked += 1
            return True
        return self.filters is not None and self.filters.refusal(self.request, node) is not None

    @property
    def by_name(self) -> bool:
        """Whether there is more to look at than who is skipped."""
        return bool(self.ports) or self.filters is not None

    def port(self, name: str) -> str | None:
        there = self.members[name].taken_ports
        if self.ports.isdisjoint(there):
            return None
        self.blocked += 1
        return printed("ports", taken(next(port for port in self.request.asked_ports if port in there)))

    def plugin(self, name: str) -> str | None:
        refused = None if self.filters is None else self.filters.refusal(self.request, self.members[name])
        return None if refused is None else printed(*refused)
