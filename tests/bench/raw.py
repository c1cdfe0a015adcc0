"""The raw side of a ratio: Python's own sqlite3, one durable write at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

BATCH = 300


def raw_store(folder: Path) -> sqlite3.Connection:
    """At the store's durability, with one row to write."""
    raw = sqlite3.connect(folder / "raw.db", isolation_level=None, check_same_thread=False)
    for statement in (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value)",
        "INSERT INTO meta VALUES ('n', 0)",
    ):
        raw.execute(statement)
    return raw


def raw_writes(raw: sqlite3.Connection, writes: int = BATCH) -> Callable[[], int]:
    """One caller, one row, BEGIN IMMEDIATE to COMMIT."""

    def work() -> int:
        for _ in range(writes):
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("UPDATE meta SET value = value + 1 WHERE name = ?", ("n",))
            raw.execute("COMMIT")
        return writes

    return work
