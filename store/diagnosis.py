"""How the database is: its log, who pins it, room on the disk, and what in it waits for a person."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from resources.canonical import Document
from resources.instants import rfc3339
from store import backlog, backups, holds, secret_index
from store.engine import WAL_LIMIT, file_system, library_warning, network_file_system
from store.node_tables import schema as metadata
from store.rows import rotten
from store.run_tables import workflow_runs as runs
from store.store import Store
from store.tables import effects, resources
from store.tx import Tx

DATABASE = "state.db"
_STUCK = select(runs.c.error).where(runs.c.state.in_(("pending", "running")), runs.c.error.is_not(None))


def content(tx: Tx) -> Document:
    """What stands in it, and what of that waits for a person."""
    indeterminate = select(func.count()).select_from(effects).where(effects.c.state == "indeterminate")
    hold, backup = holds.find(tx), backups.last(tx)
    oldest = backlog.oldest_due(tx)
    return {
        "rotten": rotten(row._mapping for row in tx.execute(select(resources))),
        "rows": {table.name: _counted(tx, table) for table in metadata.sorted_tables},
        "effectsIndeterminate": int(tx.execute(indeterminate).scalar_one()),
        "runsStuck": list(tx.execute(_STUCK).scalars()),
        "queueDepth": backlog.depth(tx),
        "oldestDueSeconds": 0.0 if oldest is None else round(max(tx.now - oldest, 0.0), 3),
        "held": None if hold is None else {"reason": hold.reason, "by": hold.by, "since": rfc3339(hold.since)},
        "lastBackup": None if backup is None else {**backup, "at": rfc3339(float(backup["at"]))},
        "secrets": [list(one[:3]) for one in secret_index.list_all(tx)],
        "now": rfc3339(tx.now),
    }


def file(store: Store) -> Document:
    """What it stands in; a passive checkpoint is tried on the way."""
    told: Document = {
        "library": sqlite3.sqlite_version,
        "libraryWarning": library_warning(),
    }
    if store.folder is None:
        return told
    frames, done = _checkpointed(store)
    return {
        **told,
        "databaseBytes": _bytes(store.folder / DATABASE),
        "logBytes": _bytes(store.folder / f"{DATABASE}-wal"),
        "logLimitBytes": WAL_LIMIT,
        "logFrames": frames,
        "logFramesDone": done,
        "freeBytes": shutil.disk_usage(store.folder).free,
        "fileSystem": file_system(store.folder),
        "networkFileSystem": network_file_system(store.folder),
    }


def _checkpointed(store: Store) -> tuple[int, int]:
    """Frames in the log, and those of them that are in the database: a reader that stays keeps the two apart."""
    with store.engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        _busy, frames, done = raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return max(int(frames), 0), max(int(done), 0)


def _bytes(path: Path) -> int:
    """By the folder's entry: the file itself must not be opened here."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _counted(tx: Tx, table: Any) -> int:
    return int(tx.execute(select(func.count()).select_from(table)).scalar_one())
