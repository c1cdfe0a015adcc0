"""Two processes that book atoms of one store at once: no atom is ever booked twice for the same time."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from controllers.runtime.environment import Threads
from store import capacity_audit, ledger
from store.store import Store
from tests.architecture.tree import ROOT
from tests.property.test_ledger_laws import overbooked
from tests.two_bookers import prepare


@pytest.mark.req("P13", "P2", "P17")
@pytest.mark.parametrize("placers", [("inline", "inline"), ("inline", "pool-lease")])
def test_two_times_two_hundred_requests_never_book_an_atom_twice(tmp_path: Path, placers: tuple[str, str]) -> None:
    data = tmp_path / "data"
    prepare(data)
    counts = _both(data / "state.db", placers)
    store = Store.open(data, Threads(), synchronous="OFF")
    with store.read() as tx:
        claimed = ledger.list_allocations(tx)
        wrong = [one for one in capacity_audit.audit(tx) if one.kind == "ledger"]
    store.close()
    assert len(claimed) == sum(placed for placed, _ in counts)
    assert min(Counter(one.uid.partition("-")[0] for one in claimed).values()) > 0
    assert sum(lost for _, lost in counts) > 0, "nobody met anybody"
    assert (overbooked(claimed), wrong) == ([], [])


def _both(database: Path, placers: tuple[str, str]) -> list[tuple[int, int]]:
    """Both are ready before either begins."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.two_bookers", str(database), placer, name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for placer, name in zip(placers, ("first", "second"), strict=True)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    answers = [worker.communicate()[0].split() for worker in workers]
    return [(int(placed), int(lost)) for placed, lost in answers]
