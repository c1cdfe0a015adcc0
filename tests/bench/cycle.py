"""B3 and B6: the whole reconcile cycle, from wake to settle, against single commits and against DBOS."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controllers.runtime.decision import Decision, Facts
from controllers.runtime.environment import Threads
from controllers.runtime.manager import Manager
from resources.canonical import Document
from resources.conditions import condition
from resources.effect import Absent, Applied, Effect, EffectRecord
from resources.pool import PoolStatus
from resources.reference import Ref
from store import queue, resources
from store.notes import Written
from store.store import Store, notes_of
from store.tx import Tx
from tests.bench.figures import Figure, interleaved
from tests.bench.peers import Peer, peer
from tests.bench.raw import raw_store, raw_writes

ROUNDS = 5
KEYS = 300
"""Cycles of a round; each on a key of its own."""
WORKERS = 32
DBOS_CYCLES = 200
DBOS_FLOOR = "114 to 428/s elsewhere"
DOCUMENT: Document = {"tiers": [{"name": "local", "kind": "local-servers", "scaleOut": "fixed"}]}


class OneEffect:
    """Wants one effect, and is ready once it is applied."""

    kind = "pool"
    places = False

    def observe(self, resource: Any, reader: Any) -> bool:
        return any(effect.state == "applied" for effect in reader.effects(resource.uid))

    def decide(self, resource: Any, view: bool, facts: Facts) -> Decision:
        status = PoolStatus(node_count=int(view), conditions=(condition("Ready", view, "HasCapacity"),))
        return Decision(status, effects=() if view else (Effect("Run", "run/1/1", "agents", {"x": 1}),))


class Instant:
    provider = "agents"
    creates: frozenset[str] = frozenset()

    def observe(self, effect: EffectRecord, reader: Any) -> Absent:
        return Absent()

    def apply(self, effect: EffectRecord) -> Applied:
        return Applied("i")


class Cycles:
    """Settled keys, and a manager that takes each through a cycle once it is woken; `flight` keys at a time."""

    def __init__(self, folder: Path, flight: int, keys: int) -> None:
        environment = Threads()
        self.store = Store.open(folder, environment)
        self.flight = flight
        self._manager = Manager(
            self.store,
            environment,
            {"pool": OneEffect()},
            [Instant()],
            workers=8,
            effect_workers=WORKERS,
        )
        for start in range(0, keys, 100):
            self.store.write(lambda tx, start=start: _make(tx, start, min(start + 100, keys)))
        self._next = 0
        self._under_way = 0
        self._done = environment.signal()
        self.store.subscribe(self._follow)
        self._manager.start()

    def run(self) -> int:
        end = self._next + KEYS
        while self._next < end or self._under_way:
            free = min(self.flight - self._under_way, end - self._next)
            if free > 0:
                names = range(self._next, self._next + free)
                self._next += free
                self._under_way += free
                self.store.write(lambda tx, names=names: [queue.enqueue(tx, _ref(name)) for name in names])
            else:
                self._done.wait()
                self._done.clear()
        return KEYS

    def stop(self) -> None:
        self._manager.stop()
        self.store.close()

    def _follow(self, notes: Any) -> None:
        settled = sum(note.resource.status.node_count for note in notes_of(notes, Written))
        if settled:
            self._under_way -= settled
            self._done.set()


def measure() -> Iterator[Figure]:
    best = 0.0
    for flight, share, most in ((10, 0.8, 0.5), (100, 2.0, None)):
        figure, cycles = _against_commits(flight, share, most)
        best = max(best, cycles)
        yield figure
    yield _against_dbos()


def _against_commits(flight: int, share: float, most: float | None) -> tuple[Figure, float]:
    with tempfile.TemporaryDirectory() as folder:
        raw = raw_store(Path(folder))
        cycles = Cycles(Path(folder) / "data", flight, KEYS * ROUNDS)
        before = cycles.store.writer.commits
        ceiling, rate = interleaved(ROUNDS, raw_writes(raw), cycles.run)
        commits = (cycles.store.writer.commits - before) / (KEYS * ROUNDS)
        cycles.stop()
        raw.close()
    ok = rate / ceiling >= share and (most is None or commits <= most)
    goal = f"≥ {share} × one commit" + (f", ≤ {most} commits a key" if most else "")
    text = f"{rate / ceiling:.2f} × ({rate:.0f} of {ceiling:.0f}/s), {commits:.2f} commits a key"
    return Figure(f"B3 {flight} in flight", text, goal, ok), rate


def _against_dbos() -> Figure:
    with tempfile.TemporaryDirectory() as folder, peer("dbos", Path(folder)) as dbos:
        cycles = Cycles(Path(folder) / "data", 100, KEYS * 3)
        if isinstance(dbos, Peer):
            theirs, ours = interleaved(3, lambda: dbos.work(DBOS_CYCLES), cycles.run)
            figure = f"{ours / theirs:.1f} × DBOS {dbos.version} ({theirs:.0f}/s)"
        else:
            (ours,) = interleaved(3, cycles.run)
            theirs, figure = None, f"{ours:.0f}/s; DBOS {DBOS_FLOOR}: {dbos}"
        cycles.stop()
    return Figure("B6 against DBOS", figure, "≥ 10 ×", None if theirs is None else ours / theirs >= 10)


def _ref(number: int) -> Ref:
    return Ref("pool", f"p{number}")


def _make(tx: Tx, first: int, end: int) -> None:
    for number in range(first, end):
        resources.create(tx, _ref(number), DOCUMENT)
        queue.remove(tx, _ref(number))
