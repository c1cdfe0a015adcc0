"""A look at a folder that no server has: whether its database is whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from store.errors import Refused
from store.lock import lock_folder


def check(folder: Path) -> tuple[str, str]:
    """(ok, warn or FAIL, what to tell). The folder's lock is held meanwhile."""
    try:
        lock = lock_folder(folder)
    except Refused as error:
        return "warn", str(error)
    try:
        with closing(sqlite3.connect(folder / "state.db")) as connection:
            found = connection.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.DatabaseError as error:
        return "FAIL", f"{folder / 'state.db'}: {error}"
    finally:
        lock.release()
    return ("ok", "no server has it; its structure is whole") if found == "ok" else ("FAIL", str(found).splitlines()[0])
