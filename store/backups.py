"""Backups: copies that were read back row by row before anybody relies on them, and the record of the newest."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, TableClause, create_engine, func, inspect, select, table
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from resources.canonical import Document
from store import copies, remarks
from store.copies import digest
from store.errors import Corrupt, Refused
from store.held import Held
from store.rows import verified
from store.schema import Schema
from store.tables import changes
from store.tx import Tx

NAME = "backup"
FOLDER = "backups"
GET_WHOLE = "start a server on that folder, then use rmctl backup"


@dataclass(frozen=True)
class Verified:
    """What a copy holds, after all of it was read: `rows` by table, `revision` of its last write."""

    schema: str
    revision: int
    rows: Mapping[str, int]
    size: int
    sha256: str


def make(engine: Engine, path: Path, schema: Schema | None = None) -> Verified:
    """A copy that was read back. Raises Full, OSError, and Refused when what was read is not whole."""
    copies.copy(engine, path)
    return verify(path, schema)


def opened(engine: Engine, path: Path) -> tuple[Verified, BinaryIO]:
    """A verified copy, open for reading; its name is gone already, so that nothing is left however this ends."""
    try:
        verified = make(engine, path)
        return verified, path.open("rb")
    finally:
        path.unlink(missing_ok=True)


def verify(path: Path, schema: Schema | None = None) -> Verified:
    """Read everything back: the file's structure, every row of every table, the checksum of every resource.

    An older program's copy has the tables of its time. Raises Refused naming what is wrong with it.
    """
    if not path.is_file():
        raise Refused(f"{path}: no such file")
    log_file = path.with_name(f"{path.name}-wal")
    if log_file.exists() and log_file.stat().st_size:
        raise Refused(f"{path}: what was written last is in {log_file.name} beside it: {GET_WHOLE}")
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True),
        poolclass=NullPool,
    )
    try:
        with engine.connect() as connection, connection.begin():
            wrong = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
            if wrong != "ok":
                raise Refused(f"{path}: damaged: {str(wrong).splitlines()[0]}")
            revision_of_schema = _schema(connection, path, schema or Schema())
            tx = Tx(Held(connection), 0.0, writable=False)
            tables = inspect(connection).get_table_names()
            rows = {name: _counted(tx, table(name)) for name in sorted(tables) if name != "alembic_version"}
            for row in connection.exec_driver_sql("SELECT * FROM resources"):
                verified(row)
            revision = int(tx.execute(select(func.coalesce(func.max(changes.c.revision), 0))).scalar_one())
    except Corrupt as error:
        raise Refused(f"{path}: {error}") from error
    except (DatabaseError, sqlite3.DatabaseError) as error:
        raise Refused(f"{path}: cannot be read: {getattr(error, 'orig', error)}") from error
    finally:
        engine.dispose()
    return Verified(revision_of_schema, revision, rows, path.stat().st_size, digest(path))


def keep_record(tx: Tx, verified: Verified, where: str) -> None:
    """That a verified copy is kept, for whoever asks how old the newest is."""
    told = {"at": tx.now, "revision": verified.revision, "size": verified.size, "sha256": verified.sha256}
    remarks.put(tx, NAME, {**told, "where": where})


def last(tx: Tx) -> Document | None:
    """The newest verified copy: `at` (unix seconds), `revision`, `size`, `sha256`, `where`."""
    found: Document | None = remarks.find(tx, NAME)
    return found


def _schema(connection: Connection, path: Path, schema: Schema) -> str:
    found = MigrationContext.configure(connection).get_current_revision()
    if found is None:
        raise Refused(f"{path}: is no database of rmctl")
    if found not in schema.known:
        raise Refused(f"{path}: has schema {found}, this program knows up to {schema.head}: use the newer rmctl")
    return found


def _counted(tx: Tx, counted: TableClause) -> int:
    return int(tx.execute(select(func.count()).select_from(counted)).scalar_one())
