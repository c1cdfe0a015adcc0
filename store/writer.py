"""Group commit: writes that wait together share one transaction, a savepoint each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any, Protocol, TypeVar, cast

from store.environment import Environment, Signal
from store.errors import Failed, StoreError, WriteInsideWrite
from store.held import Held, named
from store.turn import Turn
from store.tx import Tx

T = TypeVar("T")
MAX_BATCH = 256
CROWD = 4
"""Callers of one batch from which on it is worth to wait for their return."""
LINGER_SECONDS = 0.001
Listener = Callable[[Sequence[object]], None]


class Rider(Protocol):
    """A write that rides along in other writes' transactions, so that it costs no commit of its own."""

    def wants(self, notes: Sequence[object]) -> bool:
        """Asked in each transaction, with what its writes have noted, before COMMIT."""
        ...

    def ride(self, tx: Tx) -> Any:
        """As a caller's function: SQL only, and perhaps twice."""
        ...

    def arrived(self, result: Any) -> None:
        """What `ride` returned is durable."""
        ...


class Request:
    """One caller's function, and what became of it."""

    __slots__ = ("error", "fn", "notes", "result")

    def __init__(self, fn: Callable[[Tx], Any]) -> None:
        self.fn = fn
        self.result: Any = None
        self.error: BaseException | None = None
        self.notes: list[object] = []


class Batch:
    """Requests that arrived while the writer was busy; one signal wakes all of their callers."""

    __slots__ = ("callers", "done", "requests")

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.callers = 0
        self.done: Signal | None = None


class Lost(StoreError):
    """The whole transaction is gone; whoever shared it was not acknowledged."""


class Writer:
    """One transaction at a time. A caller who finds nobody writing carries out its own; who comes meanwhile is gathered
    for `run`, the loop of the writer's task.
    """

    def __init__(self, environment: Environment, held: Held, listeners: list[Listener]) -> None:
        self._environment = environment
        self._held = held
        self._listeners = listeners
        self._riders: list[Rider] = []
        self._lock = Lock()
        self._open = Batch()
        self._work = environment.signal()
        self._pause = environment.signal()
        self._pause.set()
        self._gathered = environment.signal()
        self._expected = 0
        self._writing = False
        self._stopping = False
        self.turn = Turn()
        self.publishing = RLock()
        """Held from before COMMIT until every listener has seen what was written."""
        self.commits = 0
        self.failed_at = -math.inf
        """When the database last took nothing, by the monotonic clock: what was heard until then was not stored."""

    def write(self, fn: Callable[[Tx], T]) -> T:
        """Run `fn` in a shared transaction; returns after COMMIT. Raises what `fn` raised, with nothing of it stored.

        `fn` does SQL only, may run twice, and changes nothing outside.
        """
        (request,) = self.write_all((fn,))
        if request.error is not None:
            raise request.error
        return cast("T", request.result)

    def write_all(self, functions: Sequence[Callable[[Tx], Any]]) -> list[Request]:
        """Several writes that stand and fall each for itself, for the price of one.

        Returns after COMMIT; each request tells its result or its error.
        """
        if self._environment.in_transaction():
            raise WriteInsideWrite
        requests = [Request(fn) for fn in functions]
        if not requests:
            return []
        with self._lock:
            if self._stopping:
                raise StoreError("the store is closed")
            batch = self._open
            leads = not self._writing and not batch.requests
            batch.requests += requests
            batch.callers += 1
            if leads:
                self._writing, self._open = True, Batch()
            else:
                batch.done = batch.done or self._environment.signal()
                if batch.callers == self._expected:
                    self._gathered.set()
        if leads:
            self._lead(batch)
        else:
            assert batch.done is not None
            batch.done.wait()
        return requests

    def ride(self, rider: Rider) -> None:
        self._riders.append(rider)

    def run(self) -> None:
        """Until `stop`, and then until the last request is answered."""
        while True:
            self._work.wait()
            self._work.clear()
            while (batch := self._next()) is not None:
                try:
                    self._answer(batch)
                    self._gather(batch.callers)
                except BaseException:
                    self._work.set()
                    raise
                finally:
                    self._writing = False
            with self._lock:
                if self._stopping and not self._writing and not self._open.requests:
                    return

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
        self._work.set()

    def _lead(self, batch: Batch) -> None:
        """The caller's own batch; whoever came meanwhile is left to the writer's task."""
        self._pause.wait()
        try:
            self._answer(batch)
        finally:
            with self._lock:
                self._writing = False
                hand_over = self._stopping or bool(self._open.requests)
            if hand_over:
                self._work.set()

    def _next(self) -> Batch | None:
        with self._lock:
            batch = self._open
            if self._writing or not batch.requests:
                return None
            self._writing, self._open = True, Batch()
            return batch

    def _gather(self, callers: int) -> None:
        """Many callers who were just answered are likely to be back at once: one commit for all of them is worth a
        moment. Else one half of them always waits for the commit of the other."""
        if callers < CROWD:
            return
        self._gathered.clear()
        with self._lock:
            self._expected = callers
            waits = self._open.callers < callers and not self._stopping
        if waits:
            self._gathered.wait(LINGER_SECONDS)
        self._expected = 0

    def _answer(self, batch: Batch) -> None:
        self._environment.enter_transaction()
        try:
            for start in range(0, len(batch.requests), MAX_BATCH):
                self._commit(batch.requests[start : start + MAX_BATCH])
        except BaseException as error:  # of a rider or a listener: nobody is told that all is well
            for request in batch.requests:
                request.error = request.error or error
            raise
        finally:
            self._environment.leave_transaction()
            if batch.done is not None:
                batch.done.set()

    def _commit(self, requests: list[Request]) -> None:
        try:
            self._together(requests)
        except Lost as lost:
            if len(requests) == 1:
                requests[0].error = lost.__cause__ or lost
                if isinstance(lost.__cause__, Failed):
                    self.failed_at = self._environment.monotonic()
                return
            for request in requests:
                self._commit([request])

    def _together(self, requests: list[Request]) -> None:
        """One transaction, then the listeners.

        Raises Lost, with nothing stored, when the database gave the transaction up.
        """
        with self._or_lost(), self.turn.taken():
            riding = self._run_all(requests, apart=False)
            if riding is None and not (len(requests) == 1 and requests[0].error):
                riding = self._run_all(requests, apart=True)
        done = [request for request in requests if request.error is None]
        if riding is None or not done:
            self._held.rollback()
            return
        done += [request for _, request in riding]
        with self.publishing:
            with self._or_lost():
                self._held.commit()
            self.commits += 1
            self._publish(done)
        for rider, request in riding:
            rider.arrived(request.result)

    @contextmanager
    def _or_lost(self) -> Iterator[None]:
        try:
            yield
        except Lost:
            self._held.rollback()
            raise
        except self._held.errors as error:
            self._held.rollback()
            raise Lost from named(error)
        except BaseException:
            self._held.rollback()
            raise

    def _run_all(self, requests: list[Request], *, apart: bool) -> list[tuple[Rider, Request]] | None:
        """Requests and their riders in a transaction that is left open. Without savepoints a failure takes all with it:
        None then, and all of them have to run again. That is seldom, and a savepoint costs as much as a statement.
        """
        self._held.begin(writing=True)
        notes: list[object] = []
        for request in requests:
            self._one(request, apart=apart)
            if request.error is not None and not apart:
                self._held.rollback()
                return None
            notes += request.notes
        riding = [(rider, Request(rider.ride)) for rider in self._riders if rider.wants(notes)]
        for _, request in riding:
            self._one(request, apart=apart)
            if request.error is not None and not apart:
                self._held.rollback()
                return None
        return [(rider, request) for rider, request in riding if request.error is None]

    def _publish(self, done: list[Request]) -> None:
        notes = [note for request in done for note in request.notes]
        if notes:
            for listener in self._listeners:
                listener(notes)

    def _one(self, request: Request, *, apart: bool) -> None:
        request.error, request.notes = None, []
        held = self._held
        tx = Tx(held, self._environment.now(), writable=True, new_uuid=self._environment.uuid)
        if apart:
            held.savepoint()
        try:
            request.result = request.fn(tx)
        except BaseException as error:  # the caller's own failure, an exit too, is handed back to the caller
            if not held.in_transaction:
                raise Lost from named(error)
            if apart:
                held.undo()
            request.error = named(error)
        else:
            request.notes = tx.notes
            if apart:
                held.release()
