"""The other sides of B4 and B6, run by a Python that has huey and DBOS: one line in, one line out."""

from __future__ import annotations

import importlib.metadata
import sys
import threading
from collections.abc import Callable
from pathlib import Path

Work = Callable[..., int]


def huey(folder: Path) -> Work:
    """Items through huey's SQLite queue at full durability, each put and taken by one of `callers` threads."""
    from huey.storage import SqliteStorage

    storage = SqliteStorage("bench", filename=str(folder / "huey.db"), fsync=True, timeout=60)

    def work(callers: int, items: int) -> int:
        def one() -> None:
            for _ in range(items):
                storage.enqueue(b"item")
                storage.dequeue()

        threads = [threading.Thread(target=one) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return callers * items

    return work


def dbos(folder: Path) -> Work:
    """Workflows of one step through a DBOS queue, on SQLite."""
    from dbos import DBOS

    DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{folder / 'dbos.db'}", "run_admin_server": False})

    @DBOS.step()
    def touch() -> str:
        return "i"

    @DBOS.workflow()
    def cycle() -> str:
        return touch()

    DBOS.launch()
    queue = DBOS.register_queue("bench", polling_interval_sec=0.01)

    def work(cycles: int) -> int:
        for handle in [queue.enqueue(cycle) for _ in range(cycles)]:
            handle.get_result()
        return cycles

    return work


def main(name: str, folder: str) -> None:
    work = {"huey": huey, "dbos": dbos}[name](Path(folder))
    print(importlib.metadata.version(name), flush=True)
    for line in sys.stdin:
        print(work(*map(int, line.split())), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
