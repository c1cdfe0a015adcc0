"""A seeded scheduler of greenlets on a virtual clock: every wait is a place where any other task may run."""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections import deque
from collections.abc import Callable
from random import Random

import greenlet

START = 1_700_000_000.0
STEPS_KEPT = 50


class Stuck(Exception):
    """More steps than a run may take: something spins."""


class SimTask:
    """A greenlet of one process. `join` waits on the virtual clock."""

    def __init__(self, scheduler: Scheduler, name: str, target: Callable[[], None], process: object) -> None:
        self.name = name
        self.process = process
        self.done = SimSignal(scheduler)
        self.error: BaseException | None = None
        self._target = target
        self.greenlet = greenlet.greenlet(self._run, parent=scheduler.hub)

    def _run(self) -> None:
        try:
            self._target()
        except Exception as error:  # raised again by the scheduler, beside the seed
            self.error = error
        self.done.set()

    def join(self, timeout: float | None = None) -> None:
        self.done.wait(timeout)


class SimSignal:
    """An event on the virtual clock."""

    __slots__ = ("_scheduler", "_set", "_waiters")

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
    """One parked task, or a call that is due later; woken once."""

    __slots__ = ("call", "task", "woken")

    def __init__(self, task: SimTask | None, call: Callable[[], None] | None = None) -> None:
        self.task = task
        self.call = call
        self.woken = False


class Scheduler:
    """`now` is unix seconds and may jump; `monotonic` passes only when nobody can run, or when a draw says so.

    `drift` is how often a sleeper is due although others could run. `stalls` is how often a task of a process that may
    stall is left out for `STALL_SECONDS`.
    """

    def __init__(self, seed: int, *, start: float = START, drift: float = 0.02) -> None:
        self.random = Random(seed)
        self.offset = start
        self.monotonic = 0.0
        self.drift = drift
        self.steps = 0
        self.current: SimTask | None = None
        self.last: deque[tuple[float, str]] = deque(maxlen=STEPS_KEPT)
        self.hub = greenlet.getcurrent()
        self.forbidden = False
        """A transaction is under way."""
        self.held = 0
        """How often the publishing lock is held."""
        self.stall: Callable[[SimTask], float] = lambda _task: 0.0
        """Seconds for which a task that was picked is left out."""
        self._gave_way: AssertionError | None = None
        """Raised again between two steps, in case the product swallowed it."""
        self._hash = hashlib.blake2b(digest_size=8)
        self._ready: list[SimTask] = []
        self._sleeping: list[tuple[float, int, Wait]] = []
        self._order = itertools.count()
        self._dead: set[object] = set()
        self._graveyard: list[SimTask] = []

    @property
    def now(self) -> float:
        return self.offset + self.monotonic

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

    def dead(self, process: object) -> bool:
        return process in self._dead

    def sleep(self, seconds: float) -> None:
        self.park(seconds)
        self.leave()

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call it then; it may wake others and must not wait."""
        self._sleep(seconds, Wait(None, call))

    def pause(self) -> None:
        """Let another task run, perhaps."""
        assert self.current is not None
        self._ready.append(self.current)
        self.leave()

    def park(self, timeout: float | None) -> Wait:
        assert self.current is not None
        wait = Wait(self.current)
        if timeout is not None:
            self._sleep(timeout, wait)
        return wait

    def leave(self) -> None:
        if self.forbidden or self.held:
            self._gave_way = AssertionError("a task gave way inside a transaction or a planning lock")
            raise self._gave_way
        self.hub.switch()

    def wake(self, wait: Wait) -> None:
        if not wait.woken:
            wait.woken = True
            if wait.task is not None:
                self._ready.append(wait.task)

    def run(self, until: Callable[[], bool], *, limit: int, after_step: Callable[[], None] = lambda: None) -> None:
        """Until `until` holds between two steps, or nobody can run any more.

        Raises Stuck after `limit` steps, and what a task raised.
        """
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
            seconds = self.stall(task)
            if seconds:
                self._sleep(seconds, Wait(task))
                continue
            self.current = task
            self.last.append((self.monotonic, task.name))
            self._hash.update(b"%f %s" % (self.monotonic, task.name.encode()))
            task.greenlet.switch()
            self.current = None
            if self._gave_way is not None:
                raise self._gave_way
            if task.error is not None:
                raise task.error
            after_step()

    def digest(self) -> str:
        """Equal for equal runs."""
        return self._hash.hexdigest()

    def _sleep(self, seconds: float, wait: Wait) -> None:
        heapq.heappush(self._sleeping, (self.monotonic + max(seconds, 0.0), next(self._order), wait))

    def _next(self) -> SimTask | None:
        while not self._ready:
            if not self._sleeping:
                return None
            self._advance()
        if self._sleeping and self.random.random() < self.drift:
            self._advance()
        number = int(self.random.random() * len(self._ready))
        self._ready[number], self._ready[-1] = self._ready[-1], self._ready[number]
        return self._ready.pop()

    def _advance(self) -> None:
        """Time goes on to the next sleeper."""
        at, _, wait = heapq.heappop(self._sleeping)
        while wait.woken:
            if not self._sleeping:
                return
            at, _, wait = heapq.heappop(self._sleeping)
        self.monotonic = max(at, self.monotonic)
        self.wake(wait)
        if wait.call is not None:
            wait.call()


class Turn:
    """A lock between tasks that may wait while they hold it; it goes from hand to hand in the order of asking."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._taken = False
        self._waiting: deque[SimSignal] = deque()

    def __enter__(self) -> None:
        if self._taken:
            signal = self._scheduler.signal()
            self._waiting.append(signal)
            signal.wait()
        self._taken = True

    def __exit__(self, *_: object) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._taken = False
