"""Nodes whose devices are booked for a time, in columns: where each of them stands on a shelf over any window."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from placement.boards import WHOLE, Layout
from placement.bookings import units_on
from placement.classes import BucketKey, NodeClass
from placement.devices import NEUTRAL, Wanted, verdict
from placement.fullness import Figures
from placement.node import Claim, NodeView
from placement.wording import printed

MOST_ATOMS = 16
MOST_CLAIMS = 32
MOST_VERDICTS = 1 << 22
SPARE_AMOUNTS = 1024
"""How many kinds of amounts are kept beyond four for each node."""
FEWEST = 64

Numbers = NDArray[np.int64]
Home = tuple[NodeClass, BucketKey]


class Standpoint(NamedTuple):
    """What a node is, devices apart: `port` and `held` are why it would be refused after its amounts."""

    group: NodeClass
    port: str
    held: str
    capacity: Figures
    used: Figures


class Cards(NamedTuple):
    """Atoms that answer alike, as soon as it is known which of them are booked; `free` leaves the booked ones out."""

    layout: Layout
    labels: tuple[str | None, ...]
    free: tuple[int, ...]


class Told(NamedTuple):
    """What the atoms of a node answer over a window."""

    blocked: str
    has: Figures
    used: Figures
    topology: int


class Calendar:
    """The timed nodes of one shelf.

    A window gives each node a mask of booked atoms, the mask a verdict, and that with the node's amounts a home: the
    class and bucket in which it would stand. Every step is a look-up in a table that is filled when it is first asked.
    """

    def __init__(self, want: Wanted) -> None:
        self.want = want
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.odd: set[str] = set()
        """Nodes that do not fit into columns: parts of devices booked for a time, very many atoms or claims."""
        self.homes: list[Home] = []
        self.memo: dict[Hashable, Any] = {}
        """What was worked out for the homes by kind of request; a list that grows with them."""
        self.order: NDArray[np.float64] = np.zeros(FEWEST)
        """By row, a number that sorts as the names do."""
        self._sorted: list[str] = []
        self._facts: list[tuple[Standpoint, Cards]] = []
        self._starts = np.full((4, FEWEST), np.inf)
        self._ends = np.full((4, FEWEST), -np.inf)
        self._masks: Numbers = np.zeros((4, FEWEST), np.int64)
        self._base: Numbers = np.zeros(FEWEST, np.int64)
        self._amounts: Numbers = np.zeros(FEWEST, np.int64)
        self._cards: Numbers = np.zeros(FEWEST, np.int64)
        self._last: tuple[tuple[float | None, float | None], Numbers] | None = None
        self._most_verdicts = MOST_VERDICTS
        self._begin()

    def _begin(self) -> None:
        self.homes.clear()
        self.memo.clear()
        self._home_ids: dict[Home, int] = {}
        self._amount_ids: dict[Standpoint, int] = {}
        self._amounts_by_id: list[Standpoint] = []
        self._card_at: dict[Cards, int] = {}
        """Where the verdicts of these cards begin, one for each mask."""
        self._cards_by_at: list[tuple[int, Cards]] = []
        self._verdicts: Numbers = np.full(FEWEST, -1, np.int64)
        self._filled = 0
        self._told_ids: dict[Told, int] = {}
        self._told_by_id: list[Told] = []
        self._pairs: Numbers = np.full((FEWEST, 8), -1, np.int64)

    def put(self, node: NodeView, amounts: Standpoint) -> None:
        """Take in a timed node as it is now."""
        board = node.board
        assert board is not None
        timed = [claim for claim in node.claims.values() if claim.devices and claim.timed]
        whole = all(units == WHOLE for claim in timed for _, units in claim.devices)
        if len(timed) > MOST_CLAIMS or len(board.ids) > MOST_ATOMS or not whole:
            self.drop(node.name)
            self.odd.add(node.name)
            return
        self.odd.discard(node.name)
        self._last = None
        always = node.free_always
        row = self.rows.get(node.name)
        if row is None:
            row = self._new_row(node.name)
        free = tuple(units if 0 < units < WHOLE else WHOLE for units in always)
        cards = Cards(board.layout, tuple(node.label(key) for key in self.want.keys), free)
        self._facts[row] = amounts, cards
        self._base[row] = sum(1 << at for at, units in enumerate(always) if units <= 0)
        self._book(row, timed, {name: 1 << at for at, name in enumerate(board.ids)})
        if len(self._amount_ids) > 4 * len(self.names) + SPARE_AMOUNTS or self._filled > self._most_verdicts:
            self._begin()
            for other, facts in enumerate(self._facts):
                self._enter(other, *facts)
            self._most_verdicts = max(MOST_VERDICTS, 2 * self._filled)
        else:
            self._enter(row, amounts, cards)

    def drop(self, name: str) -> None:
        """Forget a node, if it is known."""
        self.odd.discard(name)
        row = self.rows.pop(name, None)
        if row is None:
            return
        self._last = None
        del self._sorted[bisect_left(self._sorted, name)]
        last = len(self.names) - 1
        if row != last:
            moved = self.names[row] = self.names[last]
            self.rows[moved], self._facts[row] = row, self._facts[last]
            for column in (self.order, self._base, self._amounts, self._cards):
                column[row] = column[last]
            for table in (self._starts, self._ends, self._masks):
                table[:, row] = table[:, last]
        self.names.pop()
        self._facts.pop()

    def at(self, start: float | None, end: float | None) -> Numbers:
        """By row, the number of its home over this window."""
        window = start, end
        if self._last is None or self._last[0] != window:
            self._last = window, self._at(-np.inf if start is None else start, np.inf if end is None else end)
        return self._last[1]

    def _at(self, start: float, end: float) -> Numbers:
        count = len(self.names)
        over = (self._ends[:, :count] > start) & (self._starts[:, :count] < end)
        masks = np.bitwise_or.reduce(self._masks[:, :count] * over, axis=0) | self._base[:count]
        slots = self._cards[:count] + masks
        told = self._verdicts[slots]
        if count and told.min() < 0:
            for slot in np.unique(slots[told < 0]).tolist():
                self._verdicts[slot] = self._judge(slot)
            told = self._verdicts[slots]
        amounts = self._amounts[:count]
        homes: Numbers = self._pairs[amounts, told]
        if count and homes.min() < 0:
            unknown = homes < 0
            for pair in np.unique(amounts[unknown] << 32 | told[unknown]).tolist():
                self._pairs[pair >> 32, pair & 0xFFFFFFFF] = self._home(pair >> 32, pair & 0xFFFFFFFF)
            homes = self._pairs[amounts, told]
        return homes

    def _judge(self, slot: int) -> int:
        begin, cards = self._cards_by_at[bisect_left(self._cards_by_at, slot + 1, key=lambda entry: entry[0]) - 1]
        mask = slot - begin
        free = tuple(0 if mask >> at & 1 else units for at, units in enumerate(cards.free))
        found = verdict(cards.layout, free, self.want, cards.labels, binpack=True)
        if found.filter:
            told = Told(printed(found.filter, found.reason), (), (), NEUTRAL)
        else:
            used, has = units_on(self.want, cards.layout, free)
            told = Told("", has, used, found.score)
        number = self._told_ids.setdefault(told, len(self._told_by_id))
        if number == len(self._told_by_id):
            self._told_by_id.append(told)
            if number >= self._pairs.shape[1]:
                self._pairs = _wider(self._pairs, 1)
        return number

    def _home(self, amounts: int, told: int) -> int:
        group, port, held, capacity, used = self._amounts_by_id[amounts]
        blocked, has, taken, topology = self._told_by_id[told]
        home = group, (port or blocked or held, capacity + has, used + taken, topology)
        number = self._home_ids.setdefault(home, len(self.homes))
        if number == len(self.homes):
            self.homes.append(home)
        return number

    def _enter(self, row: int, amounts: Standpoint, cards: Cards) -> None:
        number = self._amount_ids.setdefault(amounts, len(self._amounts_by_id))
        if number == len(self._amounts_by_id):
            self._amounts_by_id.append(amounts)
            if number >= self._pairs.shape[0]:
                self._pairs = _wider(self._pairs, 0)
        begin = self._card_at.setdefault(cards, self._filled)
        if begin == self._filled:
            self._cards_by_at.append((begin, cards))
            self._filled += 1 << len(cards.free)
            while self._filled > len(self._verdicts):
                self._verdicts = _wider(self._verdicts, 0)
        self._amounts[row], self._cards[row] = number, begin

    def _book(self, row: int, timed: list[Claim], bits: dict[str, int]) -> None:
        while len(timed) > self._starts.shape[0]:
            self._starts = _wider(self._starts, 0, np.inf)
            self._ends = _wider(self._ends, 0, -np.inf)
            self._masks = _wider(self._masks, 0, 0)
        self._starts[:, row], self._ends[:, row], self._masks[:, row] = np.inf, -np.inf, 0
        for at, claim in enumerate(timed):
            self._starts[at, row] = -np.inf if claim.start is None else claim.start
            self._ends[at, row] = np.inf if claim.end is None else claim.end
            self._masks[at, row] = sum({bits.get(name, 0) for name, _ in claim.devices})

    def _new_row(self, name: str) -> int:
        row = self.rows[name] = len(self.names)
        self.names.append(name)
        self._facts.append(None)  # type: ignore[arg-type]  # put says what it is
        if row >= len(self.order):
            self.order, self._base = _wider(self.order, 0, 0), _wider(self._base, 0, 0)
            self._amounts, self._cards = _wider(self._amounts, 0, 0), _wider(self._cards, 0, 0)
            self._starts, self._ends = _wider(self._starts, 1, np.inf), _wider(self._ends, 1, -np.inf)
            self._masks = _wider(self._masks, 1, 0)
        at = bisect_left(self._sorted, name)
        self._sorted.insert(at, name)
        low = self.order[self.rows[self._sorted[at - 1]]] if at else None
        high = self.order[self.rows[self._sorted[at + 1]]] if at + 1 < len(self._sorted) else None
        self._between(row, low, high)
        return row

    def _between(self, row: int, low: float | None, high: float | None) -> None:
        """A number between those of its neighbours, or new numbers for all where there is none left."""
        least = (0.0 if high is None else high - 2.0) if low is None else low
        most = least + 2.0 if high is None else high
        middle = (least + most) / 2
        if least < middle < most:
            self.order[row] = middle
        else:
            for number, name in enumerate(self._sorted):
                self.order[self.rows[name]] = float(number)


def _wider(table: NDArray[Any], axis: int, empty: float = -1) -> NDArray[Any]:
    """Twice as long."""
    return np.concatenate((table, np.full_like(table, empty)), axis=axis)
