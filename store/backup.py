"""Copies of the database: made while it runs, read back before they count, and kept beside it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store import rows
from store.errors import StoreError

FOLDER = "backups"
PART = ".part"
KEPT = 2
"""Copies that are kept of those made before migrations away from one schema."""
CHECKED = "SELECT generation, spec, status, labels, annotations, finalizers, checksum, kind, name FROM resources"


class Unsound(StoreError):
    """A copy that cannot stand in for the database."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


@dataclass(frozen=True)
class Copy:
    """A file that was read back. `schema` is its revision, `resources` how many rows were checked."""

    path: Path
    schema: str
    resources: int


def make(source: Any, target: Path) -> Copy:
    """Copy the database behind a driver's connection into a new file; it appears under its name once it is sound.

    Raises Unsound, and what the driver says of a full disk; then there is no file.
    """
    target.parent.mkdir(mode=0o700, exist_ok=True)
    part = target.with_name(target.name + PART)
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        driver = type(source)
        with closing(driver(part)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, whole without a journal beside it
        found = verify(part, driver)
        _sync(part)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    part.rename(target)
    _sync(target.parent)
    return Copy(target, found.schema, found.resources)


def verify(path: Path, driver: type[sqlite3.Connection] = sqlite3.Connection) -> Copy:
    """Open a copy and read everything back. Raises Unsound."""
    try:
        with closing(driver(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as copy:
            (health,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            if health != "ok":
                raise Unsound(path, health)
            (schema,) = copy.execute("SELECT version_num FROM alembic_version").fetchone()
            return Copy(path, str(schema), _checked(path, copy))
    except sqlite3.DatabaseError as error:
        raise Unsound(path, str(error)) from error


def before_migration(source: Any, folder: Path, found: str, wanted: str, now: float) -> Copy:
    """The copy that a migration away from `found` leaves behind; only the newest ones are kept."""
    beside = folder / FOLDER
    made = make(source, beside / f"schema-{found}-before-{wanted}-{int(now)}.db")
    for old in _of_schema(beside, found)[KEPT:]:
        old.unlink()
    return made


def newest(folder: Path, known: set[str]) -> Path | None:
    """The newest copy in a data folder with a schema that this program knows."""
    copies = [path for schema in known for path in _of_schema(folder / FOLDER, schema)[:1]]
    return max(copies, key=_made_at, default=None)


def _of_schema(beside: Path, schema: str) -> list[Path]:
    """Newest first."""
    return sorted(beside.glob(f"schema-{schema}-before-*.db"), key=_made_at, reverse=True)


def _made_at(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def _checked(path: Path, copy: sqlite3.Connection) -> int:
    count = 0
    cursor = copy.execute(CHECKED)
    names = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        if rows.checksum(row) != row["checksum"]:
            raise Unsound(path, f"{row['kind']}/{row['name']} does not match its checksum")
        count += 1
    return count


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
