"""The timed nodes of a shelf over the window of one request: the best of them, and why the others are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from placement.answers import Ranked
from placement.calendar import Calendar, Home, Numbers
from placement.classes import NodeClass
from placement.fullness import Figures
from placement.policy import TierPolicy
from placement.request import Request
from placement.shelf import Order
from placement.standing import Standing, Standings
from placement.tally import Reasons
from placement.unfit import Unfit

MOST_KEPT = 64
FEW = 8
"""So many groups of equals are looked for one after the other, before all that is left is sorted."""
NOT_KEPT = -1

Made = TypeVar("Made")


class Keys:
    """By home its key in one order of classes, a row a level; NOT_KEPT in the first where it has no room."""

    def __init__(self, standings: Standings, asked: Figures, *, binpack: bool, compliant: bool) -> None:
        self.standings = standings
        self.by_class: dict[NodeClass, Standing] = {
            one.group: one for one in standings.classes if not (compliant and one.violated)
        }
        self._order = Order(asked, binpack=binpack, blend=standings.blend)
        self._known = 0
        self._levels: Numbers = np.zeros((len(standings.packing), 64), np.int64)
        self._telling: set[int] = {0}
        self._first: tuple[int, ...] | None = None

    def levels(self, homes: list[Home]) -> list[Numbers]:
        """The first level, then those in which any two homes differ."""
        while len(homes) > self._levels.shape[1]:
            self._levels = np.concatenate((self._levels, np.zeros_like(self._levels)), axis=1)
        for number in range(self._known, len(homes)):
            group, key = homes[number]
            standing, measure = self.by_class.get(group), self._order.measure(key)
            if standing is None or measure is None:
                self._levels[0, number] = NOT_KEPT
                continue
            found = self.standings.key(standing, measure)
            self._levels[:, number] = found
            first = self._first = self._first or found
            self._telling.update(level for level, value in enumerate(found) if value != first[level])
        self._known = len(homes)
        return [self._levels[level] for level in sorted(self._telling)]

    def key(self, home: int) -> tuple[int, ...]:
        return tuple(self._levels[:, home].tolist())


class Refusals:
    """By home the number of the reason that one kind of request is told; NOT_KEPT where there is none."""

    def __init__(self, reasons: Reasons) -> None:
        self.texts: list[str] = []
        self._reasons = reasons
        self._numbers: dict[str, int] = {}
        self._known = 0
        self._by_home: Numbers = np.zeros(64, np.int64)

    def by_home(self, homes: list[Home]) -> Numbers:
        while len(homes) > len(self._by_home):
            self._by_home = np.concatenate((self._by_home, self._by_home))
        for number in range(self._known, len(homes)):
            self._by_home[number] = self._number(*homes[number])
        self._known = len(homes)
        return self._by_home

    def _number(self, group: NodeClass, key: tuple[str, Figures, Figures, int]) -> int:
        text = self._reasons.of(group, key) if self._reasons.counts(group) else None
        if text is None:
            return NOT_KEPT
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


class Timed:
    """One question to a calendar."""

    def __init__(self, calendar: Calendar, request: Request) -> None:
        self.calendar = calendar
        self.homes = calendar.at(request.start, request.end)

    def home(self, name: str) -> Home | None:
        row = self.calendar.rows.get(name)
        return None if row is None else self.calendar.homes[int(self.homes[row])]

    def ranked(
        self,
        standings: Standings,
        asked: Figures,
        tier: TierPolicy,
        unfit: Unfit | None,
        *,
        compliant: bool,
    ) -> Iterator[Ranked]:
        """What the filters keep, the best first."""
        binpack = tier.packing == "binpack"
        kind = "keys", id(standings), asked, binpack, compliant
        keys = self._kept(kind, lambda: Keys(standings, asked, binpack=binpack, compliant=compliant))
        first, *others = keys.levels(self.calendar.homes)
        left = first[self.homes]
        if unfit is not None:
            self._leave_out(left, unfit)
        for row in self._in_order(left, others):
            name, home = self.calendar.names[row], int(self.homes[row])
            if unfit is None or unfit.filters is None or unfit.plugin(name) is None:
                standing = keys.by_class[self.calendar.homes[home][0]]
                yield Ranked(name, tier.name, keys.key(home), standing.violated)

    def refused(self, reasons: Reasons, apart: frozenset[str]) -> Counter[str]:
        """Nodes by reason, those apart left out."""
        told = self._kept(("reasons", reasons.kind), lambda: Refusals(reasons))
        numbers = told.by_home(self.calendar.homes)[self.homes]
        for name in apart & self.calendar.rows.keys():
            numbers[self.calendar.rows[name]] = NOT_KEPT
        counts = np.bincount(numbers[numbers >= 0], minlength=len(told.texts))
        return Counter({told.texts[number]: int(counts[number]) for number in np.flatnonzero(counts).tolist()})

    def _leave_out(self, left: Numbers, unfit: Unfit) -> None:
        rows = self.calendar.rows
        for name in unfit.skip & rows.keys():
            left[rows[name]] = NOT_KEPT
        for name in unfit.with_a_port_taken() & rows.keys():
            unfit.blocked += int(left[rows[name]]) >= 0
            left[rows[name]] = NOT_KEPT

    def _in_order(self, left: Numbers, others: list[Numbers]) -> Iterator[int]:
        order = self.calendar.order
        for _ in range(FEW):
            most = left.max(initial=NOT_KEPT)
            if most == NOT_KEPT:
                return
            rows: NDArray[np.intp] = np.flatnonzero(left == most)
            for level in others:
                if len(rows) > 1:
                    values = level[self.homes[rows]]
                    rows = rows[values == values.max()]
            best = int(rows[order[rows].argmin()])
            yield best
            rest = rows[np.argsort(order[rows])].tolist()
            yield from rest[1:]
            left[rows] = NOT_KEPT
        rows = np.flatnonzero(left > NOT_KEPT)
        levels = [-level[self.homes[rows]] for level in reversed(others)]
        yield from rows[np.lexsort((order[rows], *levels, -left[rows]))].tolist()

    def _kept(self, kind: Hashable, make: Callable[[], Made]) -> Made:
        memo = self.calendar.memo
        found: Made | None = memo.get(kind)
        if found is None:
            if len(memo) >= MOST_KEPT:
                memo.clear()
            found = memo[kind] = make()
        return found
