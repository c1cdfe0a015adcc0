"""Nodes in buckets of equal amounts, and the buckets in the order of a packing measure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING, Any

from placement.blend import Blend
from placement.bookings import amounts_on, devices_on
from placement.classes import BucketKey, NodeClass
from placement.devices import NEUTRAL
from placement.fullness import SCALE, Figures, fullness
from placement.node import NodeView
from placement.request import Request
from placement.sorted_names import SortedNames
from placement.unfit import Unfit
from placement.wording import held_by, printed, taken

if TYPE_CHECKING:
    from placement.calendar import Calendar

MOST_ORDERS = 32
MOST_REMEMBERED = 8192
MOST_TALLIES = 32
MOST_MOVES = 4096


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
        out = None if unfit is None else unfit.out
        for negated, _, bucket in self.order(asked, binpack=binpack, blend=blend).rows:
            if negated > worst:
                break
            head = bucket.head
            if best is not None and head >= best:
                continue
            name = head if unfit is None or out is None or not out(head) else unfit.first(bucket)
            if name is not None and (best is None or name < best):
                best, worst = name, negated
        return None if best is None else (-worst, best)

    def ranked(
        self, asked: Figures, unfit: Unfit | None, *, binpack: bool, blend: Blend | None = None
    ) -> Iterator[tuple[int, str]]:
        """All nodes with room: measure and name, the best first."""
        for negated, rows in groupby(self.order(asked, binpack=binpack, blend=blend).rows, key=lambda row: row[0]):
            names = merge(*(bucket for _, _, bucket in rows))
            found = ((-negated, name) for name in names)
            yield from found if unfit is None else unfit.others(found)


class Shelf:
    """All nodes of a pool, for requests that ask for the same kinds of resources and devices, and maybe ports.

    `like` is one of these requests where they ask for devices: time apart, all would get the same.
    """

    __slots__ = ("_asks", "_like", "calendar", "classes", "moves", "ports", "tallies", "where")

    def __init__(self, asks: tuple[bool, bool, bool], ports: tuple[str, ...], like: Request | None = None) -> None:
        self._asks = asks
        self._like = like
        self.ports = ports
        self.calendar: Calendar | None = None
        """The nodes whose devices are booked for a time, where devices are asked for; they stand in no bucket."""
        self.classes: dict[NodeClass, ClassShelf] = {}
        self.where: dict[str, tuple[NodeClass, BucketKey]] = {}
        self.tallies: dict[Hashable, Any] = {}
        """Counts of refused nodes by kind of request; each knows how many of the moves it has taken in."""
        self.moves: list[tuple[NodeClass, BucketKey, int]] = []
        """One node more or less in a bucket, since the first of the tallies was made."""

    def make_room(self) -> None:
        """For one more tally."""
        if len(self.tallies) >= MOST_TALLIES:
            self._forget_tallies()

    def place(self, node: NodeView, group: NodeClass) -> None:
        """Put a node where it belongs now."""
        if node.timed and not node.odd and node.board is not None and self._like is not None:
            self._put_off(node, group)
            return
        if self.calendar is not None:
            self.calendar.drop(node.name)
        name, home = node.name, (group, self._key(node))
        old = self.where.get(name)
        if old is not None:
            if old == home:
                return
            self.classes[old[0]].take(old[1], name)
            self._moved(*old, -1)
        shelf = self.classes.get(group)
        if shelf is None:
            shelf = self.classes[group] = ClassShelf()
        shelf.put(home[1], name)
        self.where[name] = home
        self._moved(*home, 1)

    def remove(self, name: str) -> None:
        """Take a node away, if it is there."""
        if self.calendar is not None:
            self.calendar.drop(name)
        self._unshelve(name)

    def _unshelve(self, name: str) -> None:
        old = self.where.pop(name, None)
        if old is not None:
            self.classes[old[0]].take(old[1], name)
            self._moved(*old, -1)

    def _moved(self, group: NodeClass, key: BucketKey, by: int) -> None:
        if self.tallies:
            self.moves.append((group, key, by))
            if len(self.moves) > MOST_MOVES:
                self._forget_tallies()

    def _forget_tallies(self) -> None:
        self.tallies.clear()
        self.moves.clear()

    def _put_off(self, node: NodeView, group: NodeClass) -> None:
        from placement.calendar import Calendar, Standpoint  # noqa: PLC0415  numpy is for those who book for a time

        assert self._like is not None
        assert self._like.want is not None
        self._unshelve(node.name)
        if self.calendar is None:
            self.calendar = Calendar(self._like.want)
        self.calendar.put(node, Standpoint(group, self._port_taken(node), _held(node), *self._amounts(node)))

    def _amounts(self, node: NodeView) -> tuple[Figures, Figures]:
        vcpu, cores, memory = self._asks
        has, used = node.capacity, node.used
        return (
            (has[0] if vcpu else 0, has[1] if cores else 0, has[2] if memory else 0),
            (used[0] if vcpu else 0, used[1] if cores else 0, used[2] if memory else 0),
        )

    def _key(self, node: NodeView) -> BucketKey:
        capacity, claimed = self._amounts(node)
        blocked, topology = self._port_taken(node), NEUTRAL
        if self._like is not None:
            found = devices_on(self._like, node, binpack=True)
            if found.filter:
                blocked = blocked or printed(found.filter, found.reason)
            else:
                in_use, atoms = amounts_on(self._like, node)
                capacity, claimed, topology = capacity + atoms, claimed + in_use, found.score
        return blocked or _held(node), capacity, claimed, topology

    def _port_taken(self, node: NodeView) -> str:
        port = next((port for port in self.ports if port in node.taken_ports), None)
        return "" if port is None else printed("ports", taken(port))


def _held(node: NodeView) -> str:
    return printed("exclusive", held_by(node.holders)) if node.holders else ""
