"""Copies of the database file, made beside a running writer through SQLite's own backup."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from store.errors import Full

PART_BYTES = 1024 * 1024


def copy(engine: Engine, path: Path) -> None:
    """One file that needs nothing beside it. Readers and the writer go on meanwhile. Raises Full, OSError."""
    with engine.connect() as connection:
        source: Any = connection.connection.dbapi_connection
        needed = _size(source)
        if shutil.disk_usage(path.parent).free < needed:
            raise Full
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(path, isolation_level=None)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
    sync(path)


def digest(path: Path) -> str:
    """SHA-256 of a copy. Never of a database that is in use: opening its file would drop its locks."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(PART_BYTES):
            found.update(part)
    return found.hexdigest()


def sync(path: Path) -> None:
    """The file and its name are on the disk."""
    for name, flags in ((path, os.O_RDONLY), (path.parent, os.O_RDONLY | os.O_DIRECTORY)):
        handle = os.open(name, flags | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _size(source: Any) -> int:
    pages, size = (int(source.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "page_size"))
    return pages * size
