"""A sorted set of names in short runs, so that a change moves little memory however many there are."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from itertools import chain

RUN = 512


class SortedNames:
    """Names by code point, in sorted runs of which none is empty."""

    __slots__ = ("_firsts", "runs")

    def __init__(self, names: Iterable[str] = ()) -> None:
        ordered = sorted(set(names))
        self.runs = [ordered[at : at + RUN] for at in range(0, len(ordered), RUN)]
        self._firsts = [run[0] for run in self.runs]

    def add(self, name: str) -> None:
        """Add a name that is not there yet."""
        if not self.runs:
            self.runs.append([name])
            self._firsts.append(name)
            return
        at = self._run_of(name)
        run = self.runs[at]
        insort(run, name)
        if len(run) > 2 * RUN:
            self.runs[at : at + 1] = [run[:RUN], run[RUN:]]
            self._firsts.insert(at + 1, run[RUN])
        self._firsts[at] = self.runs[at][0]

    def remove(self, name: str) -> None:
        """Remove a name that is there."""
        at = self._run_of(name)
        run = self.runs[at]
        del run[bisect_left(run, name)]
        if run:
            self._firsts[at] = run[0]
        else:
            del self.runs[at], self._firsts[at]

    @property
    def head(self) -> str:
        """The first name; there is one."""
        return self._firsts[0]

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def __bool__(self) -> bool:
        return bool(self.runs)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.runs)

    def _run_of(self, name: str) -> int:
        at = bisect_left(self._firsts, name)
        return at if at < len(self._firsts) and self._firsts[at] == name else max(at - 1, 0)
