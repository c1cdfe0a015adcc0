"""The file in which DBOS keeps the steps of child runs: opened by its worker alone, as safely as the store's own."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlalchemy import Engine, create_engine, event

from store.engine import keep_private

NAME = "workflows.db"


def open_workflow_file(path: Path) -> Engine:
    """DBOS sets up no connection of an engine that it is given, and its own would not write ahead."""
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        keep_private(path)
        for statement in (
            "PRAGMA busy_timeout=30000",
            "PRAGMA foreign_keys=ON",
            "PRAGMA journal_mode=WAL",
            "PRAGMA synchronous=FULL",
        ):
            connection.execute(statement)

    return engine
