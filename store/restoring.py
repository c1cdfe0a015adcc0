"""Restoring: a verified copy becomes the database of a folder that no server has, and waits there, held."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from resources.canonical import canonical
from resources.instants import rfc3339
from store import backups, copies, holds
from store.backups import Verified
from store.engine import network_file_system
from store.errors import Refused
from store.lock import lock_folder

DATABASE = "state.db"
BESIDE = ("", "-wal", "-shm")
LEAP = 1_000_000
"""How far revisions jump at least: past all that the lost database may have given out, so that every watch lists again.
They also go past the milliseconds since 1970: a backup that is restored twice never gives out a revision twice."""


@dataclass(frozen=True)
class Restored:
    """`aside` is where the database that was there before is now; None where there was none."""

    verified: Verified
    aside: Path | None


def restore(file: Path, folder: Path, *, by: str, now: float, replace: bool = False) -> Restored:
    """Raises Refused: for a copy that is not whole, a folder in use, and a database that may not be replaced."""
    verified = backups.verify(file)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    network = network_file_system(folder)
    if network:
        raise Refused(f"data directory is on {network}: SQLite WAL needs a local filesystem")
    lock = lock_folder(folder)
    try:
        database = folder / DATABASE
        if database.exists() and not replace:
            raise Refused(f"{folder} holds a database already")
        made = folder / f"{DATABASE}.restored"
        made.unlink(missing_ok=True)
        _copy(file, made)
        _prepare(made, file, by=by, now=now)
        if backups.verify(made).rows["resources"] != verified.rows["resources"]:
            raise Refused(f"{made}: differs from {file} after the copy")
        aside = _move_aside(folder, now) if database.exists() else None
        made.replace(database)
        copies.sync(database)
    finally:
        lock.release()
    return Restored(verified, aside)


def _copy(file: Path, made: Path) -> None:
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as source:
        made.touch(0o600)
        with closing(sqlite3.connect(made)) as target:
            source.backup(target)


def _prepare(made: Path, file: Path, *, by: str, now: float) -> None:
    """Held from its first start; its log of changes begins anew, far above the old one."""
    reason = f"restored from {file.name}"
    hold = canonical({"reason": reason, "by": by, "since": now})
    told = canonical({"at": now, "file": str(file), "by": by, "when": rfc3339(now)})
    with closing(sqlite3.connect(made)) as connection, connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        for name, value in ((holds.NAME, hold), ("restored", told)):
            connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))
        head = connection.execute("SELECT coalesce(max(revision), 0) FROM changes").fetchone()[0]
        leapt = max(head + LEAP, int(now * 1000))
        connection.execute("DELETE FROM changes WHERE revision < ?", (head,))
        connection.execute("UPDATE changes SET revision = ?", (leapt,))
        connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", (leapt,))
        connection.execute("UPDATE node_facts SET connected = 0")


def _move_aside(folder: Path, now: float) -> Path:
    """The database that stood there, whole: whoever replaced it may want it back."""
    aside = folder / f"replaced-{int(now)}"
    aside.mkdir(mode=0o700)
    for suffix in BESIDE:
        path = folder / f"{DATABASE}{suffix}"
        if path.exists():
            path.rename(aside / path.name)
    return aside
