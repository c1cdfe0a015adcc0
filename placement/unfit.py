"""What a shelf does not know of a node with room: who asks, taken ports, the word of a plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from placement.node import NodeView
from placement.plugins import Run
from placement.request import Request
from placement.sorted_names import SortedNames
from placement.wording import printed, taken


class Unfit:
    """Whether a node with room is not to be taken: special nodes, excluded ones, and those with a port taken.

    `holding` are nodes by the port that is taken there, `filters` those of plugins.
    """

    __slots__ = ("blocked", "filters", "members", "out", "ports", "request", "skip", "taken")

    def __init__(
        self,
        request: Request,
        skip: frozenset[str],
        ports: Iterable[str],
        holding: Mapping[str, AbstractSet[str]],
        members: Mapping[str, NodeView],
        filters: Run | None,
    ) -> None:
        self.request = request
        self.filters = filters
        self.skip = skip
        self.ports = frozenset(ports)
        self.taken = [holding[port] for port in self.ports if port in holding]
        self.members = members
        self.blocked = 0
        """Nodes with room that were passed over."""
        out = [names for names in (skip, *self.taken) if names]
        self.out: Callable[[object], bool] = out[0].__contains__ if len(out) == 1 and filters is None else self
        """The same question, where it is that of a single set."""

    def __call__(self, name: object) -> bool:
        if name in self.skip or any(name in names for names in self.taken):
            return True
        return self.filters is not None and self.plugin(str(name)) is not None

    def first(self, names: SortedNames) -> str | None:
        """The first that may be taken."""
        out = self.out
        for run in names.runs:
            for at, name in enumerate(run):
                if not out(name):
                    self.blocked += at
                    return name
            self.blocked += len(run)
        return None

    def others(self, names: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Without those that may not."""
        return (row for row in names if not self.out(row[1]))

    def with_a_port_taken(self) -> set[str]:
        return set().union(*self.taken)

    def port(self, name: str) -> str | None:
        there = self.members[name].taken_ports
        if self.ports.isdisjoint(there):
            return None
        self.blocked += 1
        return printed("ports", taken(next(port for port in self.request.asked_ports if port in there)))

    def plugin(self, name: str) -> str | None:
        refused = None if self.filters is None else self.filters.refusal(self.request, self.members[name])
        return None if refused is None else printed(*refused)
