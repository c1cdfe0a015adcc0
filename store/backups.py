"""Backups: copies that were read back row by row before anybody relies on them, and the record of the newest."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, Table, create_engine, func, select
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from resources.canonical import Document
from store import copies, remarks
from store.copies import digest
from store.errors import Corrupt, Refused
from store.held import Held
from store.node_tables import schema as metadata
from store.rows import resource_of
from store.schema import known_schemas
from store.tables import changes
from store.tables import resources as resources_table
from store.tx import Tx

NAME = "backup"
FOLDER = "backups"


@dataclass(frozen=True)
class Verified:
    """What a copy holds, after all of it was read: `rows` by table, `revision` of its last write."""

    schema: str
    revision: int
    rows: Mapping[str, int]
    size: int
    sha256: str


def make(engine: Engine, path: Path) -> Verified:
    """A copy that was read back. Raises Full, OSError, and Refused when what was read is not whole."""
    copies.copy(engine, path)
    return verify(path)


def opened(engine: Engine, path: Path) -> tuple[Verified, BinaryIO]:
    """A verified copy, open for reading; its name is gone already, so that nothing is left however this ends."""
    try:
        verified = make(engine, path)
        return verified, path.open("rb")
    finally:
        path.unlink(missing_ok=True)


def verify(path: Path) -> Verified:
    """Read everything back: the file's structure, every row of every table, the checksum of every resource.

    Raises Refused naming what is wrong with it.
    """
    if not path.is_file():
        raise Refused(f"{path}: no such file")
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
            schema = _schema(connection, path)
            tx = Tx(Held(connection), 0.0, writable=False)
            rows = {table.name: _counted(tx, table) for table in metadata.sorted_tables}
            for row in tx.execute(select(resources_table)):
                resource_of(row)
            revision = int(tx.execute(select(func.coalesce(func.max(changes.c.revision), 0))).scalar_one())
    except Corrupt as error:
        raise Refused(f"{path}: {error}") from error
    except (DatabaseError, sqlite3.DatabaseError) as error:
        raise Refused(f"{path}: cannot be read: {getattr(error, 'orig', error)}") from error
    finally:
        engine.dispose()
    return Verified(schema, revision, rows, path.stat().st_size, digest(path))


def keep_record(tx: Tx, verified: Verified, where: str) -> None:
    """That a verified copy is kept, for whoever asks how old the newest is."""
    told = {"at": tx.now, "revision": verified.revision, "size": verified.size, "sha256": verified.sha256}
    remarks.put(tx, NAME, {**told, "where": where})


def last(tx: Tx) -> Document | None:
    """The newest verified copy: `at` (unix seconds), `revision`, `size`, `sha256`, `where`."""
    found: Document | None = remarks.find(tx, NAME)
    return found


def _schema(connection: Connection, path: Path) -> str:
    found = MigrationContext.configure(connection).get_current_revision()
    known, head = known_schemas()
    if found is None:
        raise Refused(f"{path}: is no database of rmctl")
    if found not in known:
        raise Refused(f"{path}: has schema {found}, this program knows up to {head}: use the newer rmctl")
    return found


def _counted(tx: Tx, table: Table) -> int:
    return int(tx.execute(select(func.count()).select_from(table)).scalar_one())
