"""B1 and B2: durable writes through the store against raw sqlite3 at the same durability."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from pathlib import Path

from sqlalchemy import text

from controllers.runtime.environment import Threads
from store.store import Store
from store.tx import Tx
from tests.bench.figures import Figure, interleaved, percentile

STEP = text("UPDATE meta SET value = value + 1 WHERE name = 'n'")
WRITES = 400
ROUNDS = 5


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder), Threads())
        store.write(lambda tx: tx.write(text("INSERT INTO meta VALUES ('n', 0)")))
        raw = _raw(Path(folder))
        waits: list[float] = []
        one, alone, eight, many = interleaved(
            ROUNDS, lambda: _raw_writes(raw), lambda: _writes(store, waits), lambda: _callers(store, 8, []),
            lambda: _callers(store, 64, waits),
        )  # fmt: skip
        waits.clear()
        _callers(store, 64, waits)
        p99 = percentile(waits, 0.99) * 1000
        raw.close()
        store.close()
    return [
        Figure("B1 one caller", f"{alone / one:.2f} × raw sqlite3 ({one:.0f}/s)", "≥ 0.70 ×", alone / one >= 0.70),
        Figure("B2 8 callers", f"{eight / one:.2f} × raw", "≥ 2.5 ×", eight / one >= 2.5),
        Figure(
            "B2 64 callers",
            f"{many / one:.2f} × raw, p99 {p99:.1f} ms",
            "≥ 5 ×, p99 ≤ 15 ms",
            many / one >= 5 and p99 <= 15,
        ),
    ]


def _raw(folder: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(folder / "raw.db", isolation_level=None)
    for statement in (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value)",
        "INSERT INTO meta VALUES ('n', 0)",
    ):
        raw.execute(statement)
    return raw


def _raw_writes(raw: sqlite3.Connection) -> int:
    for _ in range(WRITES):
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("UPDATE meta SET value = value + 1 WHERE name = ?", ("n",))
        raw.execute("COMMIT")
    return WRITES


def _step(tx: Tx) -> None:
    tx.write(STEP)


def _writes(store: Store, waits: list[float]) -> int:
    for _ in range(WRITES):
        began = time.perf_counter()
        store.write(_step)
        waits.append(time.perf_counter() - began)
    return WRITES


def _callers(store: Store, callers: int, waits: list[float]) -> int:
    threads = [threading.Thread(target=_writes, args=(store, waits)) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return callers * WRITES
