"""The waker: turns gains of room and moved gauges into wakes of the keys that care."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from controllers.runtime.fleet import Fleet, Waiting
from controllers.runtime.patience import Patience
from resources.reference import Ref
from store import queue, resources
from store.environment import Environment
from store.errors import Failed
from store.store import Store
from store.tx import Tx

MOST_WOKEN = 64
"""Pending jobs woken by one gain of room; the tick of each job wakes the rest."""
APART_SECONDS = 1e-6
GAUGE_SECONDS = 0.5
"""How late the gauges of pools and nodes may be."""


class Waker:
    """One task; whatever it misses over a crash, the jobs' own ticks and the next start make good.

    Pending jobs are woken at once, gauges together and late: each batch of claims would else cost a wake of its own.
    """

    def __init__(self, store: Store, fleet: Fleet, environment: Environment) -> None:
        self._store = store
        self._patience = Patience(store, environment)
        self._fleet = fleet
        self._environment = environment
        self._work = environment.signal()
        self._gauges_at: float | None = None
        self._stopping = False

    def start(self) -> None:
        self._store.subscribe(lambda _notes: self._look())
        self._task = self._environment.spawn("waker", self._run)
        self._work.set()

    def stop(self) -> None:
        self._stopping = True
        self._patience.stop()
        self._work.set()
        self._task.join(5.0)

    def _look(self) -> None:
        if self._fleet.gained or (self._fleet.touched and self._gauges_at is None):
            self._work.set()

    def _run(self) -> None:
        while not self._stopping:
            self._work.wait(self._until_gauges())
            self._work.clear()
            with self._store.publishing:
                jobs = [ref for pool in sorted(self._fleet.gained) for ref in woken(self._fleet.waiting(pool))]
                self._fleet.gained.clear()
                gauges = self._moved()
            if jobs or gauges:
                with suppress(Failed):
                    self._patience.write(partial(wake, jobs=jobs, gauges=gauges))

    def _until_gauges(self) -> float | None:
        return None if self._gauges_at is None else max(self._gauges_at - self._environment.monotonic(), 0.0)

    def _moved(self) -> list[tuple[str, str]]:
        """What moved, once it is late enough to tell."""
        now = self._environment.monotonic()
        if self._gauges_at is None or now < self._gauges_at:
            if self._fleet.touched and self._gauges_at is None:
                self._gauges_at = now + GAUGE_SECONDS
            return []
        moved = sorted(self._fleet.touched)
        self._fleet.touched.clear()
        self._gauges_at = None
        return moved


def woken(waiting: Sequence[Waiting]) -> list[Ref]:
    """The first of those that wait, in their order, and always the one that has waited longest: it jumps no queue."""
    if not waiting:
        return []
    oldest = min(waiting, key=lambda one: one.status.waiting_since or one.created_at)
    return list(dict.fromkeys([*(one.ref for one in waiting[:MOST_WOKEN]), oldest.ref]))


def wake(tx: Tx, jobs: list[Ref], gauges: list[tuple[str, str]]) -> None:
    """The queue hands out what is due by the instant, so that each job is due a little before the next."""
    for place, ref in enumerate(jobs):
        queue.enqueue(tx, ref, tx.now - (len(jobs) - place) * APART_SECONDS)
    for kind, name in gauges:
        ref = Ref(kind, name)
        if resources.stands(tx, ref):
            queue.enqueue(tx, ref)
