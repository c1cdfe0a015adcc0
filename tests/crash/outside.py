"""What the death of a server does not touch: nodes with their processes and journals, in a file of their own."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from controllers.providers.agent_commands import Command, StartJob, StopJob
from resources.effect import Answer, Applied, Rejected
from resources.facts import Instance

TABLES = """
CREATE TABLE IF NOT EXISTS journal (effect TEXT PRIMARY KEY, node TEXT, fingerprint TEXT, ref TEXT);
CREATE TABLE IF NOT EXISTS starts (effect TEXT, instance TEXT, uid TEXT, attempt INTEGER);
CREATE TABLE IF NOT EXISTS processes (id TEXT PRIMARY KEY, node TEXT, since REAL, told TEXT);
CREATE TABLE IF NOT EXISTS outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT, told TEXT);
CREATE TABLE IF NOT EXISTS unrecorded (effect TEXT);
"""


class Outside:
    """Every call is done, and durable, when it returns."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(path, isolation_level=None)
        self._file.execute("PRAGMA synchronous=OFF")
        self._file.execute("PRAGMA journal_mode=MEMORY")
        self._file.executescript(TABLES)

    def close(self) -> None:
        self._file.close()

    def carry_out(self, node: str, command: Command, now: float) -> Answer:
        """Once per effect, however often it is asked; another request under its id is refused."""
        known = self._one("SELECT fingerprint, ref FROM journal WHERE effect = ?", command.effect)
        if known is not None:
            return Applied(known[1]) if known[0] == command.fingerprint else Rejected("another request", "DUPLICATE")
        with self._together():
            assert isinstance(command, StartJob | StopJob)
            if isinstance(command, StartJob):
                self._start(node, command, now)
            else:
                self._move(command.instance, "stopping", now)
            row = (command.effect, node, command.fingerprint, command.instance)
            self._file.execute("INSERT INTO journal VALUES (?, ?, ?, ?)", row)
        return Applied(command.instance)

    def advance(self, node: str, now: float) -> float | None:
        """What time did to the node's processes; seconds until it does more."""
        due = []
        for instance, since in self._alive(node):
            left = {"running": 1.0, "stopping": 0.5}.get(instance.state)
            if left is None:
                continue
            if now - since >= left:
                self._move(instance.id, "ready" if instance.state == "running" else "exited", now)
            else:
                due.append(left - (now - since))
        return min(due, default=None)

    def end(self, instance: str, now: float) -> None:
        """The process dies by itself."""
        self._move(instance, "exited", now, code=1)

    def instances(self, node: str) -> tuple[Instance, ...]:
        rows = self._file.execute("SELECT told FROM processes WHERE node = ? ORDER BY id", (node,))
        return tuple(_read(text) for (text,) in rows.fetchall())

    def living(self) -> dict[str, list[str]]:
        """Instance ids by the uid of their job."""
        found: dict[str, list[str]] = {}
        for (text,) in self._file.execute("SELECT told FROM processes ORDER BY id").fetchall():
            instance = _read(text)
            if instance.alive:
                found.setdefault(instance.uid, []).append(instance.id)
        return found

    def starts(self) -> list[tuple[str, int]]:
        """How often each (job, instance) was brought into the world."""
        return self._file.execute("SELECT uid || ' ' || instance, count(*) FROM starts GROUP BY 1").fetchall()

    def next_report(self, node: str) -> tuple[int, Instance] | None:
        row = self._one("SELECT seq, told FROM outbox WHERE node = ? ORDER BY seq LIMIT 1", node)
        return None if row is None else (row[0], _read(row[1]))

    def last_seq(self) -> int:
        row = self._one("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox' LIMIT 1")
        return 0 if row is None else int(row[0])

    def acknowledged(self, node: str, seq: int) -> None:
        self._file.execute("DELETE FROM outbox WHERE node = ? AND seq <= ?", (node, seq))

    def unrecorded(self, effect: str | None = None) -> list[str]:
        """Effects that were asked for without being on record; with an argument, one more."""
        if effect is not None:
            self._file.execute("INSERT INTO unrecorded VALUES (?)", (effect,))
        return [found for (found,) in self._file.execute("SELECT effect FROM unrecorded")]

    def _start(self, node: str, command: StartJob, now: float) -> None:
        instance = Instance(
            uid=command.job_uid,
            id=command.instance,
            key=command.instance_key,
            node=node,
            attempt=command.attempt,
            state="running",
            pid=100,
            started_at=now,
            at=now,
            job=command.job,
        )
        row = (command.effect, command.instance, command.job_uid, command.attempt)
        self._file.execute("INSERT INTO starts VALUES (?, ?, ?, ?)", row)
        self._file.execute("INSERT OR IGNORE INTO processes VALUES (?, ?, ?, ?)", (instance.id, node, now, ""))
        self._tell(instance, now)

    def _move(self, instance: str, state: Any, now: float, **more: Any) -> None:
        row = self._one("SELECT told FROM processes WHERE id = ?", instance)
        if row is not None and (known := _read(row[0])).alive:
            self._tell(replace(known, state=state, at=now, **more), now)

    def _tell(self, instance: Instance, now: float) -> None:
        text = json.dumps(asdict(instance))
        self._file.execute("UPDATE processes SET told = ?, since = ? WHERE id = ?", (text, now, instance.id))
        self._file.execute("INSERT INTO outbox (node, told) VALUES (?, ?)", (instance.node, text))

    def _alive(self, node: str) -> list[tuple[Instance, float]]:
        rows = self._file.execute("SELECT told, since FROM processes WHERE node = ? ORDER BY id", (node,)).fetchall()
        return [(found, since) for text, since in rows if (found := _read(text)).alive]

    def _one(self, statement: str, *values: Any) -> Any:
        return self._file.execute(statement, values).fetchone()

    def _together(self) -> Any:
        self._file.execute("BEGIN IMMEDIATE")
        return self._file


def _read(text: str) -> Instance:
    values = json.loads(text)
    return Instance(**{**values, "ports": tuple(values["ports"])})
