"""The processor that a server stays on, among those that it may use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from controllers.runtime.environment import Threads

STAT = Path("/proc/stat")
THREADS = Path("/proc/self/task")
LOOK_SECONDS = (3.0, 7.0)
"""Between two looks at what others want of the processors; no two servers look at once for long."""
WORTH = 0.25
"""How much less others must want of another processor, as a share of its time, for a move to pay."""


class Processor:
    """The interpreter runs one thread at a time, and a thread that goes on where another one has just been finds its
    data in the cache. Spread over processors the same work takes up to three times as long.

    It is no claim to the processor: whoever else wants it shares it, and the server moves where others want less.
    """

    def __init__(self) -> None:
        self.allowed: frozenset[int] = frozenset()
        """Where the process may run; empty as long as it does not stay anywhere."""
        self._mine = -1
        self._environment = Threads()

    def stay(self) -> None:
        """From now on, with all threads. Nothing happens where there is no choice, or no Linux."""
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") and STAT.exists() else ()
        if len(allowed) < 2 or self.allowed:
            return
        self.allowed = frozenset(allowed)
        self._move(self._environment.random().choice(sorted(allowed)))
        self._environment.spawn("processor", self._follow)

    def let_go(self, pid: int) -> None:
        """A child may run wherever this process might."""
        if self.allowed:
            with suppress(OSError):
                os.sched_setaffinity(pid, self.allowed)

    def _follow(self) -> None:
        never = self._environment.signal()
        while True:
            began, mine, before = self._environment.monotonic(), _own(), busy(STAT.read_text(), self.allowed)
            never.wait(self._environment.random().uniform(*LOOK_SECONDS))
            passed, mine = self._environment.monotonic() - began, _own() - mine
            wanted = {cpu: at - before.get(cpu, at) for cpu, at in busy(STAT.read_text(), self.allowed).items()}
            if self._mine in wanted:
                wanted[self._mine] -= mine
            self._move(better(self._mine, {cpu: seconds / passed for cpu, seconds in wanted.items()}))

    def _move(self, cpu: int) -> None:
        """Every thread for itself; one that is begun meanwhile inherits from the one that begins it."""
        if cpu != self._mine:
            self._mine = cpu
            for thread in (*THREADS.iterdir(), *THREADS.iterdir()):
                with suppress(OSError):
                    os.sched_setaffinity(int(thread.name), {cpu})


def _own() -> float:
    """Seconds of processor time that this process has had."""
    return sum(os.times()[:2])


def better(mine: int, wanted: Mapping[int, float]) -> int:
    """Which processor to be on, by the share of each that others want."""
    least = min(wanted, key=lambda cpu: (wanted[cpu], cpu), default=mine)
    return least if wanted.get(mine, 1.0) - wanted.get(least, 1.0) > WORTH else mine


def busy(stat: str, cpus: Iterable[int]) -> dict[int, float]:
    """Seconds for which each of the processors was at work since the machine began."""
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for words in (line.split() for line in stat.splitlines() if line.startswith("cpu")):
        number = words[0].removeprefix("cpu")
        if number and int(number) in cpus:
            user, nice, system, _idle, _waits, *others = map(int, words[1:9])
            found[int(number)] = (user + nice + system + sum(others)) / tick
    return found


SERVER = Processor()
"""That of this process."""
