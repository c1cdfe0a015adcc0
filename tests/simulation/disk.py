"""Where a simulated store lives: SQLite in memory, or a WAL file in memory whose readers see old snapshots."""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import event

from store.engine import READ, open_engine
from store.held import Held
from store.schema import prepare
from store.store import Store
from store.tx import Tx
from store.writer import Request
from tests.simulation.environment import Simulated
from tests.simulation.scheduler import Scheduler

T = TypeVar("T")
SHM = Path("/dev/shm")
WATCHED = """
CREATE TRIGGER sim_final BEFORE UPDATE ON effects WHEN OLD.state IN ('applied', 'rejected')
  AND (NEW.state <> OLD.state OR NEW.external_ref IS NOT OLD.external_ref OR NEW.code IS NOT OLD.code)
  BEGIN SELECT violated('final effect ' || OLD.key || ' turned from ' || OLD.state || ' to ' || NEW.state); END;
CREATE TRIGGER sim_request BEFORE UPDATE ON effects WHEN NEW.fingerprint <> OLD.fingerprint
  BEGIN SELECT violated('the request of effect ' || OLD.key || ' changed'); END;
CREATE TRIGGER sim_version BEFORE UPDATE ON resources
  WHEN NEW.resource_version <= OLD.resource_version OR NEW.generation < OLD.generation
  BEGIN SELECT violated(OLD.kind || '/' || OLD.name || ' went back'); END;
CREATE TRIGGER sim_room BEFORE UPDATE ON node_scalars
  WHEN NEW.resource <> 'vcpu' AND NEW.allocated > OLD.allocated AND NEW.allocated > NEW.capacity
  BEGIN SELECT violated(OLD.node || ' has claims of ' || NEW.allocated || ' on ' || NEW.capacity); END;
CREATE VIEW sim_claimed AS SELECT node, SUM(milli) AS milli FROM (
  SELECT node, SUM(capacity_milli) AS milli FROM allocations WHERE kind = 'job' AND inside IS NULL GROUP BY node
  UNION ALL
  SELECT node, MAX(SUM(capacity_milli * (kind <> 'job')), SUM(capacity_milli * (kind = 'job'))) FROM allocations
  WHERE inside IS NOT NULL OR (kind <> 'job' AND starts_at <= time_here() AND coalesce(ends_at, 1e18) > time_here())
  GROUP BY node, coalesce(inside, uid)) GROUP BY node;
CREATE TRIGGER sim_vcpu AFTER INSERT ON allocations WHEN
  (SELECT milli FROM sim_claimed WHERE node = NEW.node)
  > (SELECT capacity FROM node_scalars WHERE node = NEW.node AND resource = 'vcpu')
  BEGIN SELECT violated(NEW.node || ' has claims of ' || (SELECT milli FROM sim_claimed WHERE node = NEW.node)); END;
"""
"""What must hold of every row, told by the database itself."""


class Publishing:
    """The publishing lock, or a snapshot: whoever holds it must not give way."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def __enter__(self) -> None:
        self._scheduler.held += 1

    def __exit__(self, *_: object) -> None:
        self._scheduler.held -= 1


class SimStore(Store):
    """With `snapshots`, a reader has a connection of its own and may be left standing between its snapshot and its
    reads.
    """

    def __init__(self, disk: Disk, environment: Simulated) -> None:
        super().__init__(disk.engine, environment)
        self.publishing = self.writer.publishing = Publishing(disk.scheduler)  # type: ignore[assignment]
        self._disk = disk
        self._inside = Publishing(disk.scheduler)
        self._simulated = environment

    def write(self, fn: Callable[[Tx], T]) -> T:
        self._between()
        return super().write(fn)

    def write_all(self, functions: Sequence[Callable[[Tx], Any]]) -> list[Request]:
        self._between()
        return super().write_all(functions)

    def _between(self) -> None:
        """A thread may be left standing between its decision and its write."""
        if self._simulated.random().random() < 0.5:
            self._disk.scheduler.pause()

    @contextmanager
    def read(self) -> Iterator[Tx]:
        if not self._disk.file:
            with self._inside, super().read() as tx:
                yield tx
            return
        with self._disk.snapshot(self._simulated.now) as tx:
            if not self._disk.scheduler.held and self._simulated.random().random() < 0.5:
                for _ in range(self._simulated.random().randrange(1, 12)):
                    self._disk.scheduler.pause()
            yield tx


class Disk:
    """`violated` is told what the database saw broken."""

    def __init__(self, scheduler: Scheduler, seed: int, violated: Callable[[str], None], *, file: bool) -> None:
        self.scheduler = scheduler
        self.file = file
        self._path = SHM / f"rmctl-simulation-{os.getpid()}-{seed}.db" if file else None
        if self._path is not None:
            self._path.write_bytes(_template())
        self.engine = open_engine(self._path, synchronous="OFF")
        self._readers: list[Held] = []
        self._all: list[Any] = []

        @event.listens_for(self.engine, "connect")
        def _tell(connection: sqlite3.Connection, _record: Any) -> None:
            connection.execute("PRAGMA trusted_schema=ON")  # the triggers call a function of ours
            connection.create_function("violated", 1, violated)
            connection.create_function("time_here", 0, lambda: scheduler.now)
            self._all.append(connection)
            if self._path is None:
                connection.deserialize(_template())

    @functools.cached_property
    def beside(self) -> Held:
        """A connection for looks beside everybody."""
        return Held(self.engine.connect())

    def store(self, environment: Simulated) -> SimStore:
        return SimStore(self, environment)

    @contextmanager
    def snapshot(self, now: Callable[[], float]) -> Iterator[Tx]:
        """What is committed, on a connection that nobody else uses meanwhile."""
        held = self._readers.pop() if self._readers else Held(self.engine.connect().execution_options(**READ))
        held.begin(writing=False)
        held.driver.execute("SELECT count(*) FROM meta").fetchone()
        try:
            yield Tx(held, now(), writable=False)
        finally:
            held.rollback()
            self._readers.append(held)

    @contextmanager
    def write(self, environment: Simulated) -> Iterator[Tx]:
        """Before anything runs."""
        with Store(self.engine, environment).transaction() as tx:
            yield tx

    def fill(self, *, full: bool) -> None:
        """No page more can be had, or as many as are asked for."""
        for connection in self._all:
            pages = connection.execute("PRAGMA page_count").fetchone()[0] if full else 1 << 30
            connection.execute(f"PRAGMA max_page_count={pages}")

    def close(self) -> None:
        self.engine.dispose()
        for connection in self._all:
            connection.close()
        if self._path is not None:
            for path in (self._path, *(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm"))):
                path.unlink(missing_ok=True)


@functools.cache
def _template() -> bytes:
    """An empty store as bytes, so that no seed runs the migrations."""
    engine = open_engine(None)
    environment = Simulated(Scheduler(0), "template")
    prepare(engine, environment)
    raw: Any = engine.raw_connection().driver_connection
    raw.executescript(WATCHED)
    image: bytes = raw.serialize()
    raw.close()
    return image
