"""Nodes in buckets of equal amounts, and the buckets in the order of a packing measure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from enum import Enum
from heapq import merge
from itertools import groupby

from placement.blend import Blend
from placement.bookings import amounts_on, devices_on
from placement.devices import NEUTRAL
from placement.fullness import SCALE, Figures, fullness
from placement.node import NodeView
from placement.request import Request
from placement.sorted_names import SortedNames

MOST_ORDERS = 32
MOST_REMEMBERED = 8192

BucketKey = tuple[str, Figures, Figures, int]
"""Why it is blocked ("" if it is not), capacity, used, topology; amounts that the shelf ignores are nothing."""
PORT_TAKEN = "ports"
Unfit = Callable[[str], bool]
"""Whether a node is not to be taken although it has room."""


class Order:
    """The buckets with room for one size, by packing measure, the best first; ties by key."""

    __slots__ = ("_remembered", "asked", "binpack", "blend", "rows")

    def __init__(self, asked: Figures, *, binpack: bool, blend: Blend | None = None) -> None:
        self.asked = asked
        self.binpack = binpack
        self.blend = blend
        self.rows: list[tuple[int, BucketKey, SortedNames]] = []
        """(measure, negated; key; bucket)"""
        self._remembered: dict[BucketKey, int | None] = {}

    def add(self, key: BucketKey, bucket: SortedNames) -> None:
        measure = self.measure(key)
        if measure is not None:
            insort(self.rows, (-measure, key, bucket))

    def remove(self, key: BucketKey) -> None:
        measure = self.measure(key)
        if measure is not None:
            del self.rows[bisect_left(self.rows, (-measure, key))]  # the shorter tuple stands before its bucket's row

    def measure(self, key: BucketKey) -> int | None:
        """The packing criterion for a whole bucket, or its blend with topology; None without room."""
        remembered = self._remembered
        if key not in remembered:
            if len(remembered) >= MOST_REMEMBERED:
                remembered.clear()
            remembered[key] = self._measure(*key)
        return remembered[key]

    def _measure(self, blocked: str, capacity: Figures, used: Figures, topology: int) -> int | None:
        both = zip(self.asked, used, capacity, strict=True)
        if blocked or any(want and taken + want > most for want, taken, most in both):
            return None
        full = fullness(self.asked, used, capacity)
        packing = full if self.binpack else SCALE - full
        return packing if self.blend is None else self.blend.measure(packing, topology)


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


class ClassShelf:
    """One class of nodes on one shelf."""

    __slots__ = ("buckets", "orders", "size")

    def __init__(self) -> None:
        self.size = 0
        self.buckets: dict[BucketKey, SortedNames] = {}
        self.orders: dict[tuple[Figures, bool, Blend | None], Order] = {}

    def put(self, key: BucketKey, name: str) -> None:
        self.size += 1
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self.buckets[key] = SortedNames((name,))
            for order in self.orders.values():
                order.add(key, bucket)
        else:
            bucket.add(name)

    def take(self, key: BucketKey, name: str) -> None:
        self.size -= 1
        bucket = self.buckets[key]
        bucket.remove(name)
        if not bucket:
            del self.buckets[key]
            for order in self.orders.values():
                order.remove(key)

    def order(self, asked: Figures, *, binpack: bool, blend: Blend | None) -> Order:
        found = self.orders.get((asked, binpack, blend))
        if found is None:
            if len(self.orders) >= MOST_ORDERS:
                self.orders.clear()
            found = self.orders[asked, binpack, blend] = Order(asked, binpack=binpack, blend=blend)
            for key, bucket in self.buckets.items():
                found.add(key, bucket)
        return found

    def first(
        self, asked: Figures, unfit: Unfit | None, *, binpack: bool, blend: Blend | None = None, at_least: int = 0
    ) -> tuple[int, str] | None:
        """The best node's measure and name; None if none has that much."""
        best: str | None = None
        worst = -at_least
        for negated, _, bucket in self.order(asked, binpack=binpack, blend=blend).rows:
            if negated > worst:
                break
            name = bucket.head if unfit is None else next((name for name in bucket if not unfit(name)), None)
            if name is not None and (best is None or name < best):
                best, worst = name, negated
        return None if best is None else (-worst, best)

    def ranked(
        self, asked: Figures, unfit: Unfit | None, *, binpack: bool, blend: Blend | None = None
    ) -> Iterator[tuple[int, str]]:
        """All nodes with room: measure and name, the best first."""
        for negated, rows in groupby(self.order(asked, binpack=binpack, blend=blend).rows, key=lambda row: row[0]):
            names = merge(*(bucket for _, _, bucket in rows))
            yield from ((-negated, name) for name in names if unfit is None or not unfit(name))


class Shelf:
    """All nodes of a pool, for requests that ask for the same kinds of resources and devices, and maybe ports.

    `like` is one of these requests where they ask for devices: time apart, all would get the same.
    """

    __slots__ = ("_asks", "_like", "classes", "ports", "where")

    def __init__(self, asks: tuple[bool, bool, bool], ports: tuple[str, ...], like: Request | None = None) -> None:
        self._asks = asks
        self._like = like
        self.ports = frozenset(ports)
        self.classes: dict[NodeClass, ClassShelf] = {}
        self.where: dict[str, tuple[NodeClass, BucketKey]] = {}

    def place(self, node: NodeView, group: NodeClass) -> None:
        """Put a node where it belongs now."""
        name, home = node.name, (group, self._key(node))
        old = self.where.get(name)
        if old is not None:
            if old == home:
                return
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

    def _key(self, node: NodeView) -> BucketKey:
        blocked = PORT_TAKEN if self.ports and not self.ports.isdisjoint(node.taken_ports) else ""
        vcpu, cores, memory = self._asks
        has, used = node.capacity, node.used
        capacity = (has[0] if vcpu else 0, has[1] if cores else 0, has[2] if memory else 0)
        claimed = (used[0] if vcpu else 0, used[1] if cores else 0, used[2] if memory else 0)
        if self._like is None:
            return blocked, capacity, claimed, NEUTRAL
        found = devices_on(self._like, node, binpack=True)
        if found.filter:
            return blocked or f"{found.filter}: {found.reason}", capacity, claimed, NEUTRAL
        in_use, atoms = amounts_on(self._like, node)
        return blocked, capacity + atoms, claimed + in_use, found.score
