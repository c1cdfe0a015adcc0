"""The store: one file, one writer, and a snapshot for every reader."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import structlog
from sqlalchemy import Engine

from store import upgrade_copies
from store.engine import READ, network_file_system, open_engine
from store.environment import Environment, Task
from store.errors import Newer, Refused
from store.held import Held
from store.lock import FolderLock, lock_folder
from store.schema import Schema, prepare
from store.tx import Tx
from store.writer import Listener, Request, Rider, Writer

log = structlog.get_logger("rmctl.store")
T = TypeVar("T")
DATABASE = "state.db"


class Store:
    """Open it once a process; `write` from any task, `read` for one snapshot."""

    def __init__(
        self, engine: Engine, environment: Environment, *, folder: Path | None = None, lock: FolderLock | None = None
    ) -> None:
        self.engine = engine
        self.folder = folder
        self._environment = environment
        self._lock = lock
        self._listeners: list[Listener] = []
        self._idle = threading.local()
        self._readers: list[Held] = []
        self._writing = Held(engine.connect())
        self.writer = Writer(environment, self._writing, self._listeners)
        self.publishing = self.writer.publishing
        self.turn = self.writer.turn
        self._task: Task | None = None
        self._closed = False

    @classmethod
    def open(
        cls,
        folder: Path,
        environment: Environment,
        *,
        synchronous: str = "FULL",
        migrations: Path | None = None,
        migrated: Callable[[], None] | None = None,
    ) -> Store:
        """The store in a data folder, made when missing. Raises Refused naming why it cannot be used.

        `migrations` are those of another program, `migrated` is called before one is committed: for tests.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        network = network_file_system(folder)
        if network:
            raise Refused(f"data directory is on {network}: SQLite WAL needs a local filesystem")
        lock = lock_folder(folder)
        schema = Schema(migrations, migrated)
        try:
            schema.check(folder / DATABASE, lock.store)
            engine = open_engine(folder / DATABASE, synchronous=synchronous)
            keep = lambda found: upgrade_copies.keep(engine, folder, found, schema, environment.now())  # noqa: E731
            lock.name_store(schema.prepare(engine, environment, keep=keep))
        except Newer as error:
            lock.release()
            raise Newer(error.found, error.known, upgrade_copies.newest(folder, schema)) from None
        except BaseException:
            lock.release()
            raise
        store = cls(engine, environment, folder=folder, lock=lock)
        store.start()
        return store

    @classmethod
    def in_memory(cls, environment: Environment) -> Store:
        """For simulation and unit tests: the same SQL on one connection."""
        engine = open_engine(None)
        prepare(engine, environment)
        store = cls(engine, environment)
        store.start()
        return store

    def start(self) -> None:
        self._task = self._environment.spawn("writer", self.writer.run)

    def write(self, fn: Callable[[Tx], T]) -> T:
        """Durable when it returns. See `Writer.write`."""
        return self.writer.write(fn)

    def write_all(self, functions: Sequence[Callable[[Tx], Any]]) -> list[Request]:
        """See `Writer.write_all`."""
        return self.writer.write_all(functions)

    def heard_since(self, started_at: float) -> float:
        """From when on silence is another's: a server that starts, or cannot store what it hears, is deaf itself."""
        passed = self._environment.monotonic() - self.writer.failed_at
        return max(started_at, self._environment.now() - passed)

    def ride(self, rider: Rider) -> None:
        """From now on asked in every transaction. See `Rider`."""
        self.writer.ride(rider)

    @contextmanager
    def read(self) -> Iterator[Tx]:
        """One snapshot; what is written meanwhile is not seen."""
        held = self._take()
        held.begin(writing=False)
        try:
            yield Tx(held, self._environment.now(), writable=False)
        finally:
            held.rollback()
            self._put_back(held)

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """A write transaction of the caller's own: for tests and migrations, while no writer runs beside it."""
        with self.engine.connect() as connection, connection.begin():
            yield Tx(Held(connection), self._environment.now(), writable=True, new_uuid=self._environment.uuid)

    def subscribe(self, listener: Listener) -> None:
        """Called by the writer with the notes of each batch after COMMIT, before its callers go on."""
        self._listeners.append(listener)

    def _checkpoint(self) -> None:
        """On a full disk the log stays as it is: the next start reads it."""
        try:
            self._writing.driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except self._writing.errors as error:
            log.warning("the log is not merged", error=str(error))

    def _take(self) -> Held:
        """A connection of the calling task: one for each snapshot that it has open at once."""
        if self.folder is None:
            return self._writing
        if self._free():
            return self._free().pop()
        held = Held(self.engine.connect().execution_options(**READ))
        self._readers.append(held)
        return held

    def _put_back(self, held: Held) -> None:
        if held is not self._writing:
            self._free().append(held)

    def _free(self) -> list[Held]:
        free: list[Held] | None = getattr(self._idle, "readers", None)
        if free is None:
            free = self._idle.readers = []
        return free

    def close(self) -> None:
        """Answer what waits, then checkpoint and give the folder up. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        self.writer.stop()
        if self._task is not None:
            self._task.join()
        for held in self._readers:
            held.connection.close()
        if self.folder is not None:
            self._checkpoint()
        self._writing.connection.close()
        self.engine.dispose()
        if self._lock is not None:
            self._lock.release()


def notes_of(notes: Sequence[object], type_: type[T]) -> Iterator[T]:
    """The notes of one type, in order."""
    return (note for note in notes if isinstance(note, type_))
