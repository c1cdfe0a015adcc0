"""Whose turn it is: old keys beside busy ones, and keys that always fail, on the virtual clock."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import pytest

from controllers.runtime.backoff import CAP_SECONDS
from controllers.runtime.decision import Decision, Facts
from controllers.runtime.fleet import Fleet
from controllers.runtime.passes import Passes
from resources import conditions
from resources.conditions import condition
from resources.event import CHRONICLE
from resources.pool import Pool, PoolStatus
from resources.reference import Ref
from store import backlog, events, queue, resources
from store.store import Store
from tests.builders import a_pool
from tests.simulation.environment import Simulated
from tests.simulation.scheduler import Scheduler, SimTask

READY = PoolStatus(conditions=(condition("Ready", True, "HasCapacity", "is well"),))
PASS_SECONDS = 0.05
LIMIT = 2_000_000


class Punctual(Scheduler):
    """Passes take time here, so whoever slept until an instant that is over runs before anybody else."""

    def _next(self) -> SimTask | None:
        while self._sleeping and self._sleeping[0][0] <= self.monotonic:
            self._advance()
        return super()._next()


@dataclass
class Counted:
    """Every pass takes its time; `scripts` say what comes of it."""

    scheduler: Scheduler
    kind = "pool"
    places = False
    seconds: float = PASS_SECONDS
    scripts: dict[str, Callable[[], Decision]] = field(default_factory=dict)
    ran: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def observe(self, resource: Pool, reader: Any) -> None:
        return None

    def decide(self, resource: Pool, view: None, facts: Facts) -> Decision:
        self.ran[resource.name].append(facts.now)
        self.scheduler.monotonic += self.seconds
        return self.scripts.get(resource.name, lambda: Decision(READY))()


class Bench:
    """A store in memory, passes over it, and tasks of the test beside them."""

    def __init__(self, seed: int, *, seconds: float) -> None:
        self.scheduler = Punctual(seed, drift=0.0)
        self.environment = Simulated(self.scheduler, "server")
        self.store = Store.in_memory(self.environment)
        self.controller = Counted(self.scheduler, seconds=seconds)
        self.errors: list[BaseException] = []

    def write(self, fn: Callable[[Any], Any]) -> None:
        self.store.write(fn)

    def serve(self, workers: int) -> None:
        fleet = Fleet(self.store)
        fleet.hydrate()
        started = self.scheduler.now
        Passes(
            self.store, fleet, self.environment, {"pool": self.controller}, workers=workers, started_at=started
        ).start()

    def run(self, script: Callable[[], None]) -> None:
        """The script is a task; the rest goes on until it ends."""
        task = self.scheduler.spawn("script", script, self.environment)
        self.scheduler.run(lambda: task.done.is_set(), limit=LIMIT)
        assert task.error is None


def names(kind: str, number: int) -> Iterator[str]:
    return (f"{kind}-{index}" for index in range(number))


@pytest.mark.req("S1")
def test_idle_keys_are_served_while_others_never_rest() -> None:
    """500 idle and 20 busy resources; a server starts with all of them due; every pass takes 50 ms."""
    bench = Bench(1, seconds=PASS_SECONDS)
    idle, busy = list(names("idle", 500)), list(names("busy", 20))
    ages: list[tuple[float, float]] = []

    def look(tx: Any) -> None:
        oldest = backlog.oldest_due(tx)
        ages.append((bench.scheduler.monotonic, 0.0 if oldest is None else tx.now - oldest))

    def keep_busy() -> None:
        while True:
            bench.write(lambda tx: [queue.enqueue(tx, Ref("pool", name)) for name in busy])
            bench.scheduler.sleep(0.1)

    def story() -> None:
        bench.write(lambda tx: [resources.create(tx, Ref("pool", name), a_pool()) for name in (*idle, *busy)])
        bench.serve(workers=4)
        bench.scheduler.spawn("owners", keep_busy, bench.environment)
        for _ in range(80):
            bench.scheduler.sleep(1.0)
            bench.write(look)

    bench.run(story)
    began = bench.controller.ran[idle[0]][0]
    assert all(len(bench.controller.ran[name]) == 1 for name in idle)
    assert max(bench.controller.ran[name][0] for name in idle) - began < 60
    gaps = [
        after - before
        for name in busy
        for before, after in zip(bench.controller.ran[name], bench.controller.ran[name][1:], strict=False)
    ]
    assert median(gaps) < 2.0
    assert max(age for _, age in ages) > 5.0
    assert ages[-1][1] < 5.0


@pytest.mark.req("S2")
def test_what_always_fails_slows_down_and_says_why() -> None:
    """One status is too large, one controller raises, one resource is well: ten minutes of it."""
    bench = Bench(2, seconds=0.0)
    huge = PoolStatus(conditions=(condition("Ready", True, "HasCapacity", "x" * 2_000_000),))

    def fail() -> Decision:
        raise RuntimeError("this controller has a fault")

    bench.controller.scripts = {"huge": lambda: Decision(huge), "faulty": fail}
    before: list[Any] = []

    def story() -> None:
        bench.write(
            lambda tx: [resources.create(tx, Ref("pool", name), a_pool()) for name in ("huge", "faulty", "well")]
        )
        bench.serve(workers=4)
        bench.scheduler.sleep(1.0)
        with bench.store.read() as tx:
            before.append(resources.get(tx, Ref("pool", "well")).resource_version)
        bench.scheduler.sleep(600.0)

    bench.run(story)
    with bench.store.read() as tx:
        found = {name: resources.get(tx, Ref("pool", name)) for name in ("huge", "faulty", "well")}
        told = {name: events.list_for(tx, Ref("pool", name), without=CHRONICLE) for name in found}
    for name, words in (
        ("huge", "TooLarge: status is over its limit of 1048576 bytes"),
        ("faulty", "RuntimeError: this controller has a fault"),
    ):
        times = bench.controller.ran[name]
        assert 8 <= len(times) <= 30
        gaps = [after - before for before, after in itertools.pairwise(times)]
        growing = list(itertools.takewhile(lambda gap: gap < CAP_SECONDS * 0.8, gaps))
        assert growing == sorted(growing)
        assert all(CAP_SECONDS * 0.8 <= gap <= CAP_SECONDS * 1.2 + 1 for gap in gaps[len(growing) :])
        assert len(set(gaps)) == len(gaps)
        ready = conditions.find(found[name].status.conditions, "Ready")
        assert ready is not None
        assert (ready.status, ready.reason, words in ready.message) == ("False", "ReconcileFailed", True)
        (event,) = told[name]
        assert (event.type, event.count) == ("ReconcileFailed", len(times))
    assert bench.controller.ran["well"] == bench.controller.ran["well"][:1]
    assert found["well"].resource_version == before[0]
