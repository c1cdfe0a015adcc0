"""Group commit: writes that wait together share one transaction, a savepoint each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from threading import Lock, RLock
from typing import Any, TypeVar, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from store.environment import Environment, Signal
from store.errors import Failed, Full, StoreError, WriteInsideWrite
from store.tx import Tx

T = TypeVar("T")
MAX_BATCH = 256
Listener = Callable[[Sequence[object]], None]


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

    __slots__ = ("done", "requests")

    def __init__(self, done: Signal) -> None:
        self.requests: list[Request] = []
        self.done = done


class Lost(StoreError):
    """The whole transaction is gone; whoever shared it was not acknowledged."""


class Writer:
    """The only task that writes. `run` is its loop; `write` is what every other task calls."""

    def __init__(self, environment: Environment, connection: Connection, listeners: list[Listener]) -> None:
        self._environment = environment
        self._connection = connection
        self._listeners = listeners
        self._lock = Lock()
        self._open = Batch(environment.signal())
        self._work = environment.signal()
        self._stopping = False
        self.publishing = RLock()
        """Held from before COMMIT until every listener has seen what was written."""
        self.commits = 0

    def write(self, fn: Callable[[Tx], T]) -> T:
        """Run `fn` in a shared transaction; returns after COMMIT. Raises what `fn` raised, with nothing of it stored.

        `fn` does SQL only, may run twice, and changes nothing outside.
        """
        if self._environment.in_transaction():
            raise WriteInsideWrite
        request = Request(fn)
        with self._lock:
            if self._stopping:
                raise StoreError("the store is closed")
            batch = self._open
            batch.requests.append(request)
        self._work.set()
        batch.done.wait()
        if request.error is not None:
            raise request.error
        return cast("T", request.result)

    def run(self) -> None:
        """Until `stop`, and then until the last request is answered."""
        while True:
            self._work.wait()
            self._work.clear()
            while True:
                with self._lock:
                    batch, stopping = self._open, self._stopping
                    if batch.requests:
                        self._open = Batch(self._environment.signal())
                if not batch.requests:
                    break
                self._answer(batch)
            if stopping:
                return

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
        self._work.set()

    def _answer(self, batch: Batch) -> None:
        for start in range(0, len(batch.requests), MAX_BATCH):
            part = batch.requests[start : start + MAX_BATCH]
            self._environment.enter_transaction()
            try:
                self._commit(part)
            finally:
                self._environment.leave_transaction()
        batch.done.set()

    def _commit(self, requests: list[Request]) -> None:
        try:
            self._together(requests)
        except Lost as lost:
            if len(requests) == 1:
                requests[0].error = lost.__cause__ or lost
                return
            for request in requests:
                self._commit([request])

    def _together(self, requests: list[Request]) -> None:
        """One transaction, then the listeners.

        Raises Lost, with nothing stored, when the database gave the transaction up.
        """
        transaction = self._connection.begin()
        try:
            for request in requests:
                self._one(request, alone=len(requests) == 1)
            if all(request.error is not None for request in requests):
                transaction.rollback()
                return
            with self.publishing:
                transaction.commit()
                self.commits += 1
                self._publish(requests)
        except Lost:
            transaction.close()
            raise
        except DBAPIError as error:
            transaction.close()
            raise Lost from _named(error)

    def _publish(self, requests: list[Request]) -> None:
        notes = [note for request in requests if request.error is None for note in request.notes]
        if notes:
            for listener in self._listeners:
                listener(notes)

    def _one(self, request: Request, *, alone: bool) -> None:
        request.error, request.notes = None, []
        tx = Tx(self._connection, self._environment.now(), writable=True, new_uuid=self._environment.uuid)
        try:
            if alone:
                request.result = request.fn(tx)
            else:
                with self._connection.begin_nested():
                    request.result = request.fn(tx)
        except Exception as error:  # the caller's own failure is handed back to the caller
            if not _in_transaction(self._connection):
                raise Lost from _named(error)
            request.error = _named(error)
        else:
            request.notes = tx.notes


def _in_transaction(connection: Connection) -> bool:
    return bool(getattr(connection.connection.dbapi_connection, "in_transaction", True))


def _named(error: BaseException) -> BaseException:
    """What SQLite could not do under the store's own names, a full disk apart."""
    cause = getattr(error, "orig", error)
    if not isinstance(cause, sqlite3.OperationalError):
        return error
    named = Full() if "full" in str(cause) else Failed(str(cause))
    named.__cause__ = error
    return named
