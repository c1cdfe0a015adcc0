"""Two processes on one queue: every wake of every key is worked on once, by one of them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import queue
from store.store import Store
from tests.architecture.tree import ROOT
from tests.two_writers import driver

KEYS = 1000
WAKES = 2


@pytest.mark.req("T29")
def test_two_processes_complete_each_of_a_thousand_keys_once_per_wake(tmp_path: Path) -> None:
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    for _ in range(WAKES):
        _wake_all(tmp_path / "data")
        _work(tmp_path / "data" / "state.db", logs)
    done = Counter(name for log in logs for name in log.read_text().split())
    assert done == {f"k-{number}": WAKES for number in range(KEYS)}


def test_the_library_of_that_test_has_the_fix_of_the_race() -> None:
    assert driver().sqlite_version_info >= (3, 44, 6)


def _wake_all(data: Path) -> None:
    store = Store.open(data, Threads(), synchronous="OFF")
    store.write_all([partial(queue.enqueue, ref=Ref("pool", f"k-{number}")) for number in range(KEYS)])
    store.close()


def _work(database: Path, logs: list[Path]) -> None:
    """Both are ready before either begins."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.two_writers", str(database), str(log)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for log in logs
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert sum(int(worker.communicate()[0]) for worker in workers) == KEYS
