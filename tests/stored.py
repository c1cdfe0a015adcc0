"""Everything that a server has stored, as one digest a table: what a refused input must leave as it was."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

from store.retention import NAME as SWEPT

PASSING = frozenset({"node_facts", "queue"})
"""What heartbeats and passes that come and go write by themselves."""


def tables(folder: Path, *, but: frozenset[str] = frozenset()) -> dict[str, str]:
    """Read with plain SQLite beside the running server, as anybody may."""
    with closing(sqlite3.connect(f"file:{folder}/state.db?mode=ro", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: _digest(connection, name) for name in sorted(names) if name not in but}


def _digest(connection: sqlite3.Connection, table: str) -> str:
    """Without the note that the daily sweep leaves a minute after the start, whoever is in the middle of what."""
    found = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - named by SQLite itself
    rows = sorted(repr(row) for row in found if table != "meta" or row[0] != SWEPT)
    return f"{len(rows)} rows {hashlib.sha256(chr(0).join(rows).encode()).hexdigest()[:16]}"
