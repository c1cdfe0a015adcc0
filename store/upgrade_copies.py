"""Copies that migrations leave behind, so that there is a way back."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import DatabaseError

from store import backups, copies
from store.errors import Refused, StoreError
from store.schema import Schema

log = structlog.get_logger("rmctl.store")
KEPT = 2
"""Of one schema: a start that dies in its migration makes another one."""


def keep(engine: Engine, folder: Path, found: str, schema: Schema, now: float) -> Path:
    """The database as the older program left it, read back and named in the log. Raises Refused without one."""
    path = folder / backups.FOLDER / f"schema-{found}-{int(now)}.db"
    made = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        made.unlink(missing_ok=True)
        verified = backups.make(engine, made, schema)
        made.replace(path)
        copies.sync(path)
    except (OSError, StoreError, DatabaseError, sqlite3.Error) as error:
        with suppress(OSError):
            made.unlink()
        words = f"schema {found} is not migrated to {schema.head}, since no copy of it can be kept"
        raise Refused(f"{words}: {error}") from error
    for old in _of_schema(path.parent, found)[KEPT:]:
        old.unlink()
    rows = verified.rows["resources"]
    log.warning("migrating the database", schema=found, to=schema.head, backup=str(path), resources=rows)
    return path


def newest(folder: Path, schema: Schema) -> Path | None:
    """The newest of a data folder that this program can use."""
    beside = folder / backups.FOLDER
    found = [path for revision in schema.known for path in _of_schema(beside, revision)[:1]]
    return max(found, key=_made_at, default=None)


def _of_schema(beside: Path, revision: str) -> list[Path]:
    """Newest first."""
    return sorted(beside.glob(f"schema-{revision}-*.db"), key=_made_at, reverse=True)


def _made_at(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])
