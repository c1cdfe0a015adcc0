"""The database engine: how SQLite is opened so that nothing acknowledged is lost."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.pool import NullPool, StaticPool

READ = {"rm_read": True}
SHARED = {"check_same_thread": False}
WAL_LIMIT = 64 * 1024 * 1024
OTHERS = 0o077
FIXED = ((3, 51, 3), (3, 50, 7), (3, 44, 6))
"""First releases of their lines without the WAL-reset race."""


def open_engine(path: Path | None, *, synchronous: str = "FULL", module: Any = sqlite3) -> Engine:
    """An engine on a file, or in memory for None (one connection). Each connection of a file is opened by its user and
    held by it. `module` is the driver; one process never uses two, since each would break the other's locks.

    Transactions start as BEGIN IMMEDIATE; a connection with the execution option `rm_read` starts a snapshot instead.
    The driver's own transaction handling loses acknowledged writes between processes, so it is switched off.
    """
    if path is None:
        engine = create_engine("sqlite://", module=module, poolclass=StaticPool, connect_args=SHARED)
    else:
        engine = create_engine(f"sqlite:///{path}", module=module, poolclass=NullPool, connect_args=SHARED)

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None
        if path is not None:
            keep_private(path)
        settings = [
            "PRAGMA busy_timeout=10000",
            "PRAGMA foreign_keys=ON",
            "PRAGMA trusted_schema=OFF",
            "PRAGMA cell_size_check=ON",
            f"PRAGMA journal_size_limit={WAL_LIMIT}",
            "PRAGMA mmap_size=0",
        ]
        for statement in settings:
            connection.execute(statement)
        if path is not None:
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise RuntimeError(f"SQLite answered journal mode {mode}, wal is needed")
        connection.execute(f"PRAGMA synchronous={synchronous}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        if connection.connection.dbapi_connection.in_transaction:
            return
        reading = connection.get_execution_options().get("rm_read", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def keep_private(path: Path) -> None:
    """Nobody else may read what stands in the store. What SQLite lays beside the file gets the file's mode."""
    for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        try:
            found = one.stat()
        except FileNotFoundError:
            continue
        if found.st_mode & OTHERS and found.st_uid == os.geteuid():
            one.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS)


def library_warning(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> str | None:
    """What to say about an SQLite library with the WAL-reset race, or None."""
    newest = FIXED[0]
    if version >= newest or any(version[:2] == fixed[:2] and version >= fixed for fixed in FIXED):
        return None
    spelled = ".".join(map(str, version))
    return f"SQLite {spelled} has the WAL-reset bug (fixed in 3.51.3): this server stays the only writer of its file"


NETWORK = ("nfs", "cifs", "smb", "9p", "fuse", "virtiofs", "ceph", "gluster", "lustre", "afs", "ncp")


def file_system(folder: Path, mounts: str = "/proc/self/mountinfo") -> str:
    """Type of the file system that holds a folder, empty where the kernel does not say."""
    try:
        lines = Path(mounts).read_text().splitlines()
    except OSError:
        return ""
    real = os.path.realpath(folder)
    best, kind = "", ""
    for line in lines:
        left, _, right = line.partition(" - ")
        point = left.split()[4].replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/") or point == "/"
        if inside and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind


def network_file_system(folder: Path) -> str | None:
    """The type of a file system that SQLite's WAL cannot live on, or None."""
    kind = file_system(folder)
    return kind if kind.startswith(NETWORK) and kind != "fuseblk" else None
