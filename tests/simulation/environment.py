"""The environment of a simulated process: tasks are greenlets, ids and draws come from the seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from store import turn
from tests.simulation.scheduler import Scheduler, SimSignal, SimTask

turn.PATIENCE_SECONDS = 0.0
"""Tasks of one thread have no turns to wait for."""


class Simulated:
    """One per process; a process that is killed takes its environment with it."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler = scheduler
        self.name = name
        self._random = Random(scheduler.random.getrandbits(64))

    def now(self) -> float:
        return self.scheduler.now

    def monotonic(self) -> float:
        return self.scheduler.monotonic

    def signal(self) -> SimSignal:
        return self.scheduler.signal()

    def spawn(self, name: str, target: Callable[[], None]) -> SimTask:
        return self.scheduler.spawn(f"{self.name}/{name}", target, self)

    def random(self) -> Random:
        return self._random

    def token(self) -> str:
        return f"{self._random.getrandbits(128):032x}"

    def uuid(self) -> str:
        bits = f"{self._random.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-8{bits[17:20]}-{bits[20:]}"

    def in_transaction(self) -> bool:
        return self.scheduler.forbidden

    def enter_transaction(self) -> None:
        self.scheduler.forbidden = True

    def leave_transaction(self) -> None:
        self.scheduler.forbidden = False
