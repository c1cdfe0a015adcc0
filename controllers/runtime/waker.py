"""The waker: turns gains of room and moved gauges into wakes of the keys that care."""

from __future__ import annotations

from contextlib import suppress

from controllers.runtime.fleet import Fleet
from controllers.runtime.patience import Patience
from resources.reference import Ref
from store import queue, resources
from store.environment import Environment
from store.errors import Failed
from store.store import Store
from store.tx import Tx

MOST_WOKEN = 64
"""Pending jobs woken by one gain of room; the tick of each job wakes the rest."""
GAUGE_SECONDS = 0.5
"""How late the gauges of pools and nodes may be."""


class Waker:
    """One task; whatever it misses over a crash, the jobs' own ticks make good."""

    def __init__(self, store: Store, fleet: Fleet, environment: Environment) -> None:
        self._store = store
        self._patience = Patience(store, environment)
        self._fleet = fleet
        self._environment = environment
        self._work = environment.signal()
        self._stopping = False

    def start(self) -> None:
        self._store.subscribe(lambda _notes: self._look())
        self._task = self._environment.spawn("waker", self._run)

    def stop(self) -> None:
        self._stopping = True
        self._patience.stop()
        self._work.set()
        self._task.join(5.0)

    def _look(self) -> None:
        if self._fleet.gained or self._fleet.touched:
            self._work.set()

    def _run(self) -> None:
        while not self._stopping:
            self._work.wait()
            self._work.clear()
            with self._store.publishing:
                gained, touched = set(self._fleet.gained), set(self._fleet.touched)
                self._fleet.gained.clear()
                self._fleet.touched.clear()
                jobs = [ref for pool in sorted(gained) for ref in self._first(pool)]
            if jobs or touched:
                self._wake(jobs, sorted(touched))

    def _first(self, pool: str) -> list[Ref]:
        """By priority, then age, and always the one that has waited longest."""
        waiting = self._fleet.waiting(pool)
        if not waiting:
            return []
        oldest = min(waiting, key=lambda job: job.status.waiting_since or job.created_at)
        return list(dict.fromkeys([oldest.ref, *(job.ref for job in waiting[:MOST_WOKEN])]))

    def _wake(self, jobs: list[Ref], touched: list[tuple[str, str]]) -> None:
        with suppress(Failed):
            self._patience.write(lambda tx: _enqueue(tx, jobs, touched))


def _enqueue(tx: Tx, jobs: list[Ref], touched: list[tuple[str, str]]) -> None:
    for ref in jobs:
        queue.enqueue(tx, ref)
    for kind, name in touched:
        ref = Ref(kind, name)
        if resources.stands(tx, ref):
            queue.enqueue(tx, ref, tx.now + GAUGE_SECONDS)
