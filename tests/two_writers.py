"""One of several processes that claim from one store: `python -m tests.two_writers DATABASE LOG`.

It says that it is ready, waits for a line, works until nothing is due, and notes every key that it completed.
"""

from __future__ import annotations

import importlib
import sqlite3
import sys
from pathlib import Path
from typing import Any

from controllers.runtime.environment import Threads
from store import queue
from store.engine import library_warning, open_engine
from store.store import Store

AT_ONCE = 5


def driver() -> Any:
    """One without the WAL-reset race: with it, two writers may corrupt the file."""
    return sqlite3 if library_warning() is None else importlib.import_module("pysqlite3.dbapi2")


def main(database: Path, log: Path) -> int:
    """How many keys it completed."""
    environment = Threads()
    store = Store(open_engine(database, synchronous="OFF", module=driver()), environment)
    store.start()
    print("ready", flush=True)
    sys.stdin.readline()
    completed = 0
    with log.open("a") as notes:
        while claims := store.write(
            lambda tx: queue.claim(tx, limit=AT_ONCE, token=environment.token, backoff=lambda _: 1.0)
        ):
            for claim in claims:
                notes.write(f"{claim.ref.name}\n")
                store.write(lambda tx, claim=claim: queue.settle(tx, claim))  # type: ignore[misc]
                completed += 1
    store.close()
    return completed


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), Path(sys.argv[2])), flush=True)
