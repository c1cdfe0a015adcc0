"""A crew: workers, and the claims that are taken for them in the transactions that make work due."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import structlog

from controllers.runtime.patience import Patience
from store.environment import Environment
from store.errors import Failed
from store.store import Store
from store.tx import Tx

log = structlog.get_logger("rmctl.crew")
C = TypeVar("C")
IDLE_SECONDS = 5.0
"""Polling is the truth: the store is looked at this often though nothing said that something is due."""


@dataclass(frozen=True)
class Source(Generic[C]):
    """Where claims come from."""

    take: Callable[[Tx, int], Sequence[C]]
    """At most so many due claims."""
    next_due: Callable[[Tx], float | None]
    soonest: Callable[[Sequence[object]], float | None]
    """The earliest instant at which the notes of a transaction say that something is due."""


class Crew(Generic[C]):
    """`work(crew)` runs in a worker until `pop` has nothing more.

    Claims ride along in the transaction that made them due; a dispatcher looks when an instant has come, and now and
    then for its own sake. A worker that leaves claims behind wakes the next one.
    """

    def __init__(
        self,
        store: Store,
        environment: Environment,
        name: str,
        source: Source[C],
        work: Callable[[], None],
        *,
        workers: int,
        most: int,
        beyond: Callable[[], int] = lambda: 0,
    ) -> None:
        """At most `most` claims are held, and as many more as `beyond` says do not count now."""
        self._store = store
        self.patience = Patience(store, environment)
        self._environment = environment
        self._name = name
        self._source = source
        self._do = work
        self._most = most
        self._beyond = beyond
        self._ready: deque[C] = deque()
        self._idle: deque[int] = deque(range(workers))
        self._handed = [environment.signal() for _ in range(workers)]
        self._at_work: set[int] = set()
        self._coming = False
        self._due = environment.signal()
        self._alarm = -math.inf
        self._behind = False
        self._looking = False
        self._tasks: list[Any] = []
        self.stopping = False

    @property
    def room(self) -> int:
        """How many more claims may be taken."""
        return self._most + self._beyond() - len(self._ready) - len(self._at_work)

    @property
    def ready(self) -> Sequence[C]:
        """Claims that nobody has begun to work on."""
        return tuple(self._ready.copy())

    def start(self) -> None:
        self._store.ride(self)
        self._tasks = [
            self._environment.spawn(f"{self._name}-{number}", lambda number=number: self._serve(number))  # type: ignore[misc]
            for number in range(len(self._handed))
        ]
        self._tasks.append(self._environment.spawn(f"{self._name}-dispatcher", self._dispatch))

    def stop(self, timeout: float) -> tuple[C, ...]:
        """No more claims; what is under way gets `timeout` seconds each, and what was not begun is returned."""
        self.stopping = True
        self.patience.stop()
        self._due.set()
        for signal in self._handed:
            signal.set()
        for task in self._tasks:
            task.join(timeout)
        return tuple(self._ready)

    def pop(self, most: int) -> list[C]:
        """The next claims for the calling worker; none when there are none, and once the crew stops."""
        claims: list[C] = []
        with suppress(IndexError):
            while len(claims) < most and not self.stopping:
                claims.append(self._ready.popleft())
        if self._ready:
            self.wake()
        return claims

    def put_back(self, claims: Sequence[C]) -> None:
        """What the calling worker does not come to; another one is woken for it."""
        self._ready.extendleft(reversed(claims))
        self.wake()

    def wake(self) -> None:
        """One more worker, if there is one and none is on its way."""
        if self._ready and not self._coming:
            try:
                number = self._idle.popleft()
            except IndexError:
                return
            self._coming = True
            self._handed[number].set()

    # what the writer asks

    def wants(self, notes: Sequence[object]) -> bool:
        at = self._source.soonest(notes)
        if at is not None:
            if at <= self._environment.now():
                self._behind = True
            elif at < self._alarm:
                self._alarm = at
                self._due.set()
        return self._behind and self.room > 0 and not self.stopping

    def ride(self, tx: Tx) -> tuple[Sequence[C], bool, float | None]:
        limit = self.room
        try:
            claims = self._source.take(tx, limit)
            return claims, len(claims) == limit, self._source.next_due(tx) if self._looking else None
        except Exception:
            log.exception("claiming failed", crew=self._name)
            raise

    def arrived(self, result: tuple[Sequence[C], bool, float | None]) -> None:
        claims, self._behind, next_due = result
        if self._looking:
            self._alarm = math.inf if next_due is None else next_due
        self._ready.extend(claims)
        self.wake()

    # its tasks

    def _dispatch(self) -> None:
        while not self.stopping:
            self._behind = self._looking = True
            with suppress(Failed):
                self.patience.write(_nothing)
            self._looking = False
            self._sleep()

    def _sleep(self) -> None:
        until = self._environment.monotonic() + IDLE_SECONDS
        while not self.stopping:
            left = until - self._environment.monotonic()
            if self.room > 0:
                left = 0.0 if self._behind else min(left, self._alarm - self._environment.now())
            if left <= 0:
                return
            self._due.wait(left)
            self._due.clear()

    def _serve(self, number: int) -> None:
        mine = self._handed[number]
        while True:
            mine.wait()
            mine.clear()
            self._coming = False
            self._at_work.add(number)
            try:
                self._do()
            finally:
                self._at_work.discard(number)
                self._idle.append(number)
            if self.stopping:
                return
            if self._ready:
                self.wake()
            elif self._behind:
                self._due.set()


def _nothing(_tx: Tx) -> None:
    """A transaction for the rider alone."""
