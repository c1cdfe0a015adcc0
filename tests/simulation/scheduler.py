"""A seeded scheduler of greenlets on a virtual clock: every wait is a place where any other task may run."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from random import Random

import greenlet


class Stuck(Exception):
    """More steps than a run may take: something spins."""


class SimTask:
    """A greenlet of one process. `join` waits on the virtual clock."""

    def __init__(self, scheduler: Scheduler, name: str, target: Callable[[], None], process: object) -> None:
        self.name = name
        self.process = process
        self.done = scheduler.signal()
        self.error: BaseException | None = None
        self._target = target
        self.greenlet = greenlet.greenlet(self._run, parent=scheduler.hub)

    def _run(self) -> None:
        try:
            self._target()
        except Exception as error:  # told by the scheduler, with the seed
            self.error = error
        self.done.set()

    def join(self, timeout: float | None = None) -> None:
        self.done.wait(timeout)


class SimSignal:
    """An event on the virtual clock."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._set = False
        self._waiters: list[Wait] = []

    def set(self) -> None:
        self._set = True
        for wait in self._waiters:
            self._scheduler.wake(wait)
        self._waiters.clear()

    def clear(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        if self._set:
            self._scheduler.pause()
            return True
        wait = self._scheduler.park(timeout)
        self._waiters.append(wait)
        self._scheduler.leave()
        return self._set


class Wait:
    """One parked task; woken once."""

    __slots__ = ("task", "woken")

    def __init__(self, task: SimTask) -> None:
        self.task = task
        self.woken = False


class Scheduler:
    """`now` is unix seconds; time passes only when nobody can run, or a little with each step."""

    def __init__(self, seed: int, *, start: float = 1_700_000_000.0) -> None:
        self.random = Random(seed)
        self.now = start
        self.monotonic = 0.0
        self.steps = 0
        self.current: SimTask | None = None
        self.trace: list[str] = []
        self.hub = greenlet.getcurrent()
        self._ready: list[SimTask] = []
        self._sleeping: list[tuple[float, int, Wait]] = []
        self._order = itertools.count()
        self._dead: set[object] = set()
        self._graveyard: list[SimTask] = []
        self.forbidden = False

    def signal(self) -> SimSignal:
        return SimSignal(self)

    def spawn(self, name: str, target: Callable[[], None], process: object = None) -> SimTask:
        task = SimTask(self, name, target, process)
        self._ready.append(task)
        return task

    def kill(self, process: object) -> None:
        """Its tasks never run again, wherever they stand; nothing of theirs is unwound."""
        self._dead.add(process)
        self._graveyard += [task for task in self._ready if task.process is process]
        self._ready = [task for task in self._ready if task.process is not process]

    def sleep(self, seconds: float) -> None:
        self.park(seconds)
        self.leave()

    def pause(self) -> None:
        """Let another task run, perhaps."""
        assert self.current is not None
        self._ready.append(self.current)
        self.leave()

    def park(self, timeout: float | None) -> Wait:
        assert self.current is not None
        wait = Wait(self.current)
        if timeout is not None:
            heapq.heappush(self._sleeping, (self.monotonic + max(timeout, 0.0), next(self._order), wait))
        return wait

    def leave(self) -> None:
        if self.forbidden:
            raise AssertionError("a task gave way inside a transaction or a planning lock")
        self.hub.switch()

    def wake(self, wait: Wait) -> None:
        if not wait.woken:
            wait.woken = True
            self._ready.append(wait.task)

    def run(self, until: Callable[[], bool], *, limit: int, after_step: Callable[[], None] = lambda: None) -> None:
        """Until `until` holds between two steps. Raises Stuck after `limit` steps, and what a task raised."""
        while not until():
            self.steps += 1
            if self.steps > limit:
                raise Stuck(f"{limit} steps")
            task = self._next()
            if task is None:
                return
            if task.process in self._dead:
                self._graveyard.append(task)
                continue
            self.current = task
            self.trace.append(task.name)
            task.greenlet.switch()
            self.current = None
            if task.error is not None:
                raise task.error
            after_step()

    def _next(self) -> SimTask | None:
        while not self._ready:
            if not self._sleeping:
                return None
            self._advance()
        if self._sleeping and self.random.random() < 0.02:
            self._advance()
        number = self.random.randrange(len(self._ready))
        self._ready[number], self._ready[-1] = self._ready[-1], self._ready[number]
        return self._ready.pop()

    def _advance(self) -> None:
        """Time jumps to the next sleeper."""
        at, _, wait = heapq.heappop(self._sleeping)
        if not wait.woken:
            passed = max(at - self.monotonic, 0.0)
            self.monotonic += passed
            self.now += passed
            self.wake(wait)
