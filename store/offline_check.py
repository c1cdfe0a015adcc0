"""A look at a folder that no server has: whether its database is whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from store.errors import Refused
from store.lock import lock_folder
from store.rows import rotten

SHOWN = 5


def check(folder: Path) -> tuple[str, str]:
    """(ok, warn or FAIL, what to tell). The folder's lock is held meanwhile."""
    try:
        lock = lock_folder(folder)
    except Refused as error:
        return "warn", str(error)
    try:
        with closing(sqlite3.connect(folder / "state.db")) as connection:
            found = connection.execute("PRAGMA quick_check").fetchone()[0]
            connection.row_factory = sqlite3.Row
            rows = rotten(connection.execute("SELECT * FROM resources")) if found == "ok" else []
    except sqlite3.DatabaseError as error:
        return "FAIL", f"{folder / 'state.db'}: {error}"
    finally:
        lock.release()
    if found != "ok":
        return "FAIL", str(found).splitlines()[0]
    if rows:
        return "FAIL", told(rows)
    return "ok", "no server has it; its structure is whole, and every resource as it was written"


def told(rows: Sequence[str]) -> str:
    """What to do about rows that rotted."""
    count = "1 row is not as it was" if len(rows) == 1 else f"{len(rows)} rows are not as they were"
    more = ", …" if len(rows) > SHOWN else ""
    return f"{count} written: {', '.join(rows[:SHOWN])}{more}; rmctl restore brings a backup back"
