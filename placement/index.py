"""An exact index of one pool: nodes that only their amounts, ports and names tell apart, sorted by how full they are.

A class holds nodes for which every static rule says the same. A shelf serves the requests that ask for the same kinds
of resources and the same ports; on it each class keeps its nodes in buckets of equal amounts, and for each size asked
the order of the buckets. Writes only note a node's name; a shelf catches up when it is asked.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from heapq import merge
from typing import Any

from placement.amounts import Amounts
from placement.fullness import SCALE, fullness
from placement.node import NodeView
from placement.request import ANY_VALUE, Request
from placement.sorted_names import SortedNames

MOST_SHELVES = 16
MOST_ORDERS = 32
MOST_LEARNT = 256
SPARE_LOG = 1024

BucketKey = tuple[bool, Amounts, Amounts]
"""Whether an asked port is taken, capacity, used; the last two without the resources that the shelf ignores."""
Order = list[tuple[int, BucketKey]]
"""Buckets with room, the best packing measure first (negated), ties by key."""


class State(Enum):
    """What the claims on a node mean to a job that wants company, or none."""

    EMPTY = 0
    SHARED = 1
    HELD = 2


class NodeClass:
    """Nodes alike in everything static; the exemplar has the facts that they share, and neither name nor claims."""

    __slots__ = ("exemplar", "state")

    def __init__(self, exemplar: NodeView, state: State) -> None:
        self.exemplar = exemplar
        self.state = state


class ClassShelf:
    """One class on one shelf."""

    __slots__ = ("buckets", "orders", "size")

    def __init__(self) -> None:
        self.size = 0
        self.buckets: dict[BucketKey, SortedNames] = {}
        self.orders: dict[tuple[Amounts, bool], Order] = {}

    def put(self, key: BucketKey, name: str) -> None:
        self.size += 1
        bucket = self.buckets.get(key)
        if bucket is not None:
            bucket.add(name)
            return
        self.buckets[key] = SortedNames((name,))
        for (asked, binpack), order in self.orders.items():
            if has_room(asked, key):
                insort(order, (-measure(asked, binpack, key), key))

    def take(self, key: BucketKey, name: str) -> None:
        self.size -= 1
        bucket = self.buckets[key]
        bucket.remove(name)
        if bucket:
            return
        del self.buckets[key]
        for (asked, binpack), order in self.orders.items():
            if has_room(asked, key):
                del order[bisect_left(order, (-measure(asked, binpack, key), key))]

    def order(self, asked: Amounts, *, binpack: bool) -> Order:
        found = self.orders.get((asked, binpack))
        if found is None:
            if len(self.orders) >= MOST_ORDERS:
                self.orders.clear()
            keys = (key for key in self.buckets if has_room(asked, key))
            found = self.orders[asked, binpack] = sorted((-measure(asked, binpack, key), key) for key in keys)
        return found

    def first(self, asked: Amounts, skip: frozenset[str], *, binpack: bool) -> tuple[int, str] | None:
        """The best node's packing measure and name."""
        order = self.order(asked, binpack=binpack)
        at, end = 0, len(order)
        while at < end:
            negated = order[at][0]
            best: str | None = None
            while at < end and order[at][0] == negated:
                name = next((name for name in self.buckets[order[at][1]] if name not in skip), None)
                if name is not None and (best is None or name < best):
                    best = name
                at += 1
            if best is not None:
                return -negated, best
        return None

    def ranked(self, asked: Amounts, skip: frozenset[str], *, binpack: bool) -> Iterator[tuple[int, str]]:
        """All nodes with room: packing measure and name, the best first."""
        order = self.order(asked, binpack=binpack)
        at = 0
        while at < len(order):
            negated, tied = order[at][0], []
            while at < len(order) and order[at][0] == negated:
                tied.append(self.buckets[order[at][1]])
                at += 1
            yield from ((-negated, name) for name in merge(*tied) if name not in skip)


class Shelf:
    """All nodes of the pool, for requests that ask for these resources and these ports."""

    __slots__ = ("asks", "classes", "cursor", "ports", "where")

    def __init__(self, asks: tuple[bool, ...], ports: tuple[str, ...]) -> None:
        self.asks = asks
        self.ports = ports
        self.classes: dict[NodeClass, ClassShelf] = {}
        self.where: dict[str, tuple[NodeClass, BucketKey]] = {}
        self.cursor = 0

    def place(self, node: NodeView, group: NodeClass) -> None:
        """Put a node where it belongs now."""
        name, home = node.name, (group, self.key(node))
        old = self.where.get(name)
        if old == home:
            return
        if old is not None:
            self.classes[old[0]].take(old[1], name)
        shelf = self.classes.get(group)
        if shelf is None:
            shelf = self.classes[group] = ClassShelf()
        shelf.put(home[1], name)
        self.where[name] = home

    def remove(self, name: str) -> None:
        """Take a node away, if it is there."""
        old = self.where.pop(name, None)
        if old is not None:
            self.classes[old[0]].take(old[1], name)

    def key(self, node: NodeView) -> BucketKey:
        blocked = any(port in node.taken_ports for port in self.ports)
        return blocked, self._seen(node.capacity), self._seen(node.used)

    def _seen(self, amounts: Amounts) -> Amounts:
        asks = self.asks
        return Amounts(amounts[0] if asks[0] else 0, amounts[1] if asks[1] else 0, amounts[2] if asks[2] else 0)


class PoolIndex:
    """The shelves of one pool. `members` is the fleet's own table of the pool's nodes."""

    def __init__(self, members: Mapping[str, NodeView]) -> None:
        self.members = members
        self.labels: tuple[tuple[str, str], ...] = ()
        self.images: frozenset[str] = frozenset()
        self.standings: dict[Hashable, Any] = {}
        """What the placer worked out for the classes as they are; forgotten when there is a new one."""
        self._classes: dict[Hashable, NodeClass] = {}
        self._known: dict[str, tuple[object, dict[State, NodeClass]]] = {}
        """The classes of a node by what its claims mean, as long as its facts stay the same."""
        self._shelves: dict[tuple[tuple[bool, ...], tuple[str, ...]], Shelf] = {}
        self._log: list[str] = []
        self._start = 0

    @property
    def classes(self) -> tuple[NodeClass, ...]:
        return tuple(self._classes.values())

    def touch(self, name: str) -> None:
        """Note that a node came, went or changed."""
        self._log.append(name)
        if name not in self.members:
            self._known.pop(name, None)
        if len(self._log) > 2 * len(self.members) + SPARE_LOG:
            half = len(self._log) // 2
            self._start += half
            del self._log[:half]
            self._shelves = {key: shelf for key, shelf in self._shelves.items() if shelf.cursor >= self._start}

    def shelf(self, request: Request) -> Shelf:
        """The shelf for this request, up to date."""
        self._learn(request)
        if len(self._classes) > 4 * len(self.members) + MOST_LEARNT:
            self._forget()
        asked = request.asked
        key = ((asked[0] > 0, asked[1] > 0, asked[2] > 0), request.asked_ports)
        shelf = self._shelves.pop(key, None)
        if shelf is None:
            shelf = Shelf(*key)
            names: Iterator[str] | list[str] = iter(self.members)
            if len(self._shelves) >= MOST_SHELVES:
                del self._shelves[next(iter(self._shelves))]
        else:
            names = self._log[shelf.cursor - self._start :]
        for name in names:
            node = self.members.get(name)
            if node is None:
                shelf.remove(name)
            else:
                shelf.place(node, self.class_of(node))
        shelf.cursor = self._start + len(self._log)
        self._shelves[key] = shelf
        return shelf

    def class_of(self, node: NodeView) -> NodeClass:
        state = State.HELD if node.holders else State.SHARED if node.owners else State.EMPTY
        stamp, known = self._known.get(node.name, (None, {}))
        if stamp is not node.stamp:
            known = {}
            self._known[node.name] = node.stamp, known
        found = known.get(state)
        if found is None:
            found = known[state] = self._classify(node, state)
        return found

    def _classify(self, node: NodeView, state: State) -> NodeClass:
        spare = node.spare if node.unconsumed_spare else None
        told = tuple(node.label(label) for label, _ in self.labels)
        matched = tuple(
            value is not None and wanted in (ANY_VALUE, value)
            for value, (_, wanted) in zip(told, self.labels, strict=True)
        )
        held = node.images & self.images
        key = (node.tier, node.zone, node.cloud, node.booted, node.no_schedule, matched, held, spare, state)
        found = self._classes.get(key)
        if found is None:
            exemplar = replace(node, name="", claims={}, spare=spare)
            found = self._classes[key] = NodeClass(exemplar, state)
            self.standings.clear()
        return found

    def _learn(self, request: Request) -> None:
        """Tell nodes apart by the labels and images that requests ask for, and by no others."""
        labels = tuple(pair for pair in request.labels.items() if pair not in self.labels)
        images = request.images - self.images
        if not labels and not images:
            return
        self.labels += labels
        self.images |= images
        if len(self.labels) + len(self.images) > MOST_LEARNT:
            self.labels, self.images = tuple(request.labels.items()), request.images
        self._forget()

    def _forget(self) -> None:
        self.standings.clear()
        self._classes.clear()
        self._known.clear()
        self._shelves.clear()


def has_room(asked: Amounts, key: BucketKey) -> bool:
    blocked, capacity, used = key
    return not blocked and all(
        taken + want <= most for want, taken, most in zip(asked, used, capacity, strict=True) if want
    )


def measure(asked: Amounts, binpack: bool, key: BucketKey) -> int:
    """The packing criterion for a whole bucket."""
    _, capacity, used = key
    full = fullness(asked, used, capacity)
    return full if binpack else SCALE - full
