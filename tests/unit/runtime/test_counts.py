"""What a reconcile cycle costs in commits and statements, at one fixed interleaving."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.runtime.effects import EffectWorkers
from controllers.runtime.fleet import Fleet
from controllers.runtime.passes import Passes
from resources.reference import Ref
from store import backlog, effects, queue, resources
from store.store import Store
from tests.bench.cycle import Instant, OneEffect
from tests.builders import a_pool
from tests.clocked import Clocked

KEYS = [Ref("pool", f"p{number}") for number in range(10)]


class Still(Clocked):
    """Tasks are not run: the test does their work, in its own order, and no time passes. The writer has its thread."""

    def monotonic(self) -> float:
        return self.time

    def spawn(self, name: str, target: Callable[[], None]) -> Any:
        return super().spawn(name, target) if name == "writer" else None


class Cycle:
    """Ten settled keys, and the runtime's parts with nobody at work."""

    def __init__(self, folder: Path) -> None:
        clock = Still()
        self.store = Store.open(folder, clock)
        self.store.write(lambda tx: [resources.create(tx, key, a_pool()) for key in KEYS])
        self.store.write(lambda tx: [queue.remove(tx, key) for key in KEYS])
        fleet = Fleet(self.store)
        fleet.hydrate()
        self._passes = Passes(self.store, fleet, clock, {"pool": OneEffect()}, started_at=1000.0)
        self._workers = EffectWorkers(self.store, fleet, clock, Instant(), workers=16, started_at=1000.0)
        self._passes.start()
        self._workers.start()

    def run(self) -> None:
        """Wake, pass, call, receipt, pass: each for all keys."""
        self.store.write(lambda tx: [queue.enqueue(tx, key) for key in KEYS])
        self._passes._work()
        self._workers._work()
        self._workers._store_all(self._workers._come())
        self._passes._work()


@pytest.fixture
def cycle(tmp_path: Path) -> Iterator[Cycle]:
    made = Cycle(tmp_path)
    yield made
    made.store.close()


def test_ten_keys_are_reconciled_in_four_commits(cycle: Cycle) -> None:
    """A claim costs no commit of its own, neither of a key nor of an effect."""
    before = cycle.store.writer.commits
    cycle.run()
    with cycle.store.read() as tx:
        done = [pool.status.node_count for pool in resources.list_all(tx, "pool")]
        left, states = backlog.depth(tx), {effect.state for effect in effects.list_all(tx)}
    assert (cycle.store.writer.commits - before, done, left, states) == (4, [1] * 10, 0, {"applied"})


def test_a_key_costs_few_statements(cycle: Cycle) -> None:
    """Of the writer: nine inserts, six updates, two deletions and two questions; a look for due work is for all ten.

    Four of the inserts are two events: that the effect is pending, and that it was applied.
    """
    statements: list[str] = []
    cycle.store.writer._held.driver.set_trace_callback(statements.append)
    cycle.run()
    cycle.store.writer._held.driver.set_trace_callback(None)
    kinds = Counter(statement.split()[0] for statement in statements)
    looks, bounds = 4, {"BEGIN": 4, "COMMIT": 4}
    assert kinds == {"INSERT": 90, "UPDATE": 60, "DELETE": 20, "SELECT": 20 + looks, **bounds}
