"""B1 and B2: durable writes through the store against raw sqlite3 at the same durability."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from sqlalchemy import bindparam, text, update

from controllers.runtime.environment import Threads
from store.statements import prepared
from store.store import Store
from store.tables import meta
from store.tx import Tx
from tests.bench.figures import Figure, interleaved, percentile
from tests.bench.raw import raw_store, raw_writes

STEP = prepared(update(meta).where(meta.c.name == bindparam("n")).values(value=meta.c.value + 1))
WRITES = 300
ROUNDS = 7


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder), Threads())
        store.write(lambda tx: tx.write(text("INSERT INTO meta VALUES ('n', 0)")))
        raw = raw_store(Path(folder))
        waits: list[float] = []
        one, alone, eight, many = interleaved(
            ROUNDS,
            raw_writes(raw),
            lambda: _writes(store, WRITES, []),
            lambda: _callers(store, 8, WRITES // 2, []),
            lambda: _callers(store, 64, WRITES // 5, waits),
        )
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


def _step(tx: Tx) -> None:
    tx.write(STEP, {"n": "n"})


def _writes(store: Store, writes: int, waits: list[float]) -> int:
    for _ in range(writes):
        began = time.perf_counter()
        store.write(_step)
        waits.append(time.perf_counter() - began)
    return writes


def _callers(store: Store, callers: int, writes: int, waits: list[float]) -> int:
    threads = [threading.Thread(target=_writes, args=(store, writes, waits)) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return callers * writes
