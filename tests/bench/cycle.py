"""B3: the whole reconcile cycle, from wake to settle, against the rate of single commits."""

from __future__ import annotations

import sqlite3
import tempfile
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
from store import resources
from store.store import Store
from tests.bench.figures import Figure, rate
from tests.bench.store import _raw, _raw_writes

KEYS = 600
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


def measure() -> list[Figure]:
    figures = []
    for flight, share, most in ((10, 0.8, 0.5), (100, 2.0, None)):
        cycles, commits, ceiling = _cycles(flight)
        ok = cycles / ceiling >= share and (most is None or commits <= most)
        goal = f"≥ {share} × one commit" + (f", ≤ {most} fsync a key" if most else "")
        figures.append(
            Figure(f"B3 {flight} in flight", f"{cycles / ceiling:.2f} ×, {commits:.2f} commits a key", goal, ok)
        )
    return figures


def _cycles(flight: int) -> tuple[float, float, float]:
    """Cycles a second, commits a cycle, single raw commits a second."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Threads()
        store = Store.open(Path(folder) / "data", environment)
        raw: sqlite3.Connection = _raw(Path(folder))
        ceiling = rate(lambda: _raw_writes(raw))
        workers = min(flight, 32)
        manager = Manager(
            store, environment, {"pool": OneEffect()}, [Instant()], workers=workers, effect_workers=workers
        )
        manager.start()
        done = environment.signal()
        left = set(range(KEYS))
        feed = iter(range(KEYS))
        gate = environment.signal()

        def follow(notes: Any) -> None:
            for note in notes:
                resource = getattr(note, "resource", None)
                if resource is not None and resource.status.node_count == 1:
                    left.discard(int(resource.name[1:]))
                    gate.set()
            if not left:
                done.set()

        store.subscribe(follow)
        before = store.writer.commits

        def work() -> int:
            begun = 0
            while begun < KEYS:
                free = flight - (begun - (KEYS - len(left)))
                if free <= 0:
                    gate.wait(1.0)
                    gate.clear()
                    continue
                names = [next(feed) for _ in range(min(free, KEYS - begun))]
                store.write(
                    lambda tx, names=names: [resources.create(tx, Ref("pool", f"p{n}"), DOCUMENT) for n in names]
                )
                begun += len(names)
            done.wait()
            return KEYS

        cycles = rate(work)
        commits = (store.writer.commits - before) / KEYS
        manager.stop()
        store.close()
        raw.close()
    return cycles, commits, ceiling
