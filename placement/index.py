"""An exact index of one pool, kept up to date by every write to the fleet view.

Nodes fall into classes by what static rules can see of them, and stand on shelves sorted by how full they are: one
shelf for each set of resources that requests ask for. Ports are looked at one node after another, until some prove so
much in the way that they get a shelf of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from placement.classes import NodeClass, State
from placement.devices import Wanted
from placement.node import NodeView
from placement.request import ANY_VALUE, Request
from placement.shelf import Shelf

MOST_SHELVES = 16
MOST_CLASSES = 1024
PATIENCE = 16
"""How often the pool may be passed over for one set of ports before that set gets a shelf."""

NO_PORTS: frozenset[str] = frozenset()
ShelfKey = tuple[tuple[bool, bool, bool], tuple[str, ...], Wanted | None]


class PoolIndex:
    """The shelves of one pool. `members` is the fleet's own table of the pool's nodes."""

    def __init__(self, members: Mapping[str, NodeView]) -> None:
        self.members = members
        self.standings: dict[Hashable, Any] = {}
        """What was worked out for the classes as they are; forgotten when there is a new one."""
        self.odd: set[str] = {name for name, node in members.items() if node.odd}
        """Nodes of which more than devices is held for a time: what they are depends on when."""
        self.timed: set[str] = {name for name, node in members.items() if node.timed}
        self.holding: dict[str, set[str]] = {}
        """By port, the nodes on which it is taken."""
        self._ports: dict[str, frozenset[str]] = {}
        for name, node in members.items():
            self._set_ports(name, node.taken_ports)
        self._labels: frozenset[tuple[str, str]] = frozenset()
        self._images: frozenset[str] = frozenset()
        self._classes: dict[Hashable, NodeClass] = {}
        self._known: dict[str, tuple[object, dict[State, NodeClass]]] = {}
        """The classes of a node by what its claims mean, as long as its facts stay the same."""
        self._shelves: dict[ShelfKey, Shelf] = {}
        self._passed_over: Counter[tuple[str, ...]] = Counter()

    @property
    def classes(self) -> tuple[NodeClass, ...]:
        return tuple(self._classes.values())

    def touch(self, name: str) -> None:
        """Take in that a node came, went or changed."""
        node = self.members.get(name)
        self._set_ports(name, NO_PORTS if node is None else node.taken_ports)
        for names, there in ((self.odd, node is not None and node.odd), (self.timed, node is not None and node.timed)):
            (names.add if there else names.discard)(name)
        if node is None:
            self._known.pop(name, None)
            for shelf in self._shelves.values():
                shelf.remove(name)
        elif self._shelves:
            group = self.class_of(node)
            for shelf in self._shelves.values():
                shelf.place(node, group)

    def nodes_in(self, tier: str) -> int:
        """How many nodes of the pool stand in this tier."""
        return sum(node.tier == tier for node in self.members.values())

    def shelf(self, request: Request) -> Shelf:
        """The shelf for this request."""
        if len(self._classes) > MOST_CLASSES + 4 * len(self.members):
            self._forget()
        self._learn(request)
        asked = request.asked
        ports = request.asked_ports
        if ports and self._passed_over[ports] <= PATIENCE * len(self.members):
            ports = ()
        key = ((asked[0] > 0, asked[1] > 0, asked[2] > 0), ports, request.want)
        shelf = self._shelves.pop(key, None)
        if shelf is None:
            shelf = Shelf(key[0], ports, None if request.want is None else request)
            for node in self.members.values():
                shelf.place(node, self.class_of(node))
            if len(self._shelves) >= MOST_SHELVES:
                oldest = next(iter(self._shelves))
                del self._shelves[oldest], self._passed_over[oldest[1]]
        self._shelves[key] = shelf
        return shelf

    def pass_over(self, ports: tuple[str, ...], times: int) -> None:
        """Note that so many nodes with room were passed over because one of these ports was taken."""
        self._passed_over[ports] += times

    def class_of(self, node: NodeView) -> NodeClass:
        state = State.HELD if node.holders else State.SHARED if node.owners else State.EMPTY
        stamp, known = self._known.get(node.name, (None, None))
        if known is None or stamp is not node.stamp:
            known = {}
            self._known[node.name] = node.stamp, known
        found = known.get(state)
        if found is None:
            found = known[state] = self._classify(node, state)
        return found

    def _set_ports(self, name: str, ports: frozenset[str]) -> None:
        before = self._ports.get(name, NO_PORTS)
        if before == ports:
            return
        for port in before - ports:
            self.holding[port].discard(name)
            if not self.holding[port]:
                del self.holding[port]
        for port in ports - before:
            self.holding.setdefault(port, set()).add(name)
        if ports:
            self._ports[name] = ports
        else:
            del self._ports[name]

    def _classify(self, node: NodeView, state: State) -> NodeClass:
        spare = node.spare if node.unconsumed_spare else None
        matched = frozenset(pair for pair in self._labels if meets(node, *pair))
        held = node.images & self._images
        key = (node.tier, node.zone, node.cloud, node.booted, node.no_schedule, matched, held, spare, state)
        found = self._classes.get(key)
        if found is None:
            exemplar = replace(node, name="", labels={}, images=held, claims={}, spare=spare, board=None)
            found = self._classes[key] = NodeClass(exemplar, matched, state)
            self.standings.clear()
        return found

    def _learn(self, request: Request) -> None:
        """Tell nodes apart by the labels and images that requests ask for, and by no others."""
        labels = request.labels.items() - self._labels
        images = request.images - self._images
        if not labels and not images:
            return
        self._labels |= labels
        self._images |= images
        for node in self.members.values():
            if node.images & images or any(meets(node, *pair) for pair in labels):
                self._known.pop(node.name, None)
                group = self.class_of(node)
                for shelf in self._shelves.values():
                    shelf.place(node, group)

    def _forget(self) -> None:
        self.standings.clear()
        self._classes.clear()
        self._known.clear()
        self._shelves.clear()
        self._labels, self._images = frozenset(), frozenset()


def meets(node: NodeView, key: str, wanted: str) -> bool:
    found = node.label(key)
    return found is not None and wanted in (ANY_VALUE, found)
