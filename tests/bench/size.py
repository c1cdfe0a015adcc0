"""B10: one resource, one page and one write among very many resources of 2 KB."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

from sqlalchemy import insert

from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import paging, resources, shown
from store.rows import AnyResource, checksum, row_of, with_texts
from store.statements import prepared
from store.store import Store
from store.tables import resources as table
from store.tx import Tx
from tests.bench.figures import Figure, interleaved, percentile

ROWS = 200_000
FEW = 10_000
FILL = 20_000
READS = 2_000
PAGE = 500
UPDATES = 400
ROUNDS = 7
DOCUMENT = {"images": [f"registry.example/team/image-{number:03}:NUMBER" for number in range(45)]}
"""Some 2 KB as JSON; no two are alike."""
TEMPLATES = ("template", "default")
INSERT = prepared(insert(table))
BY_NAME = "SELECT * FROM resources WHERE kind = 'template' AND project = 'default' AND name = ?"
SOME = "SELECT * FROM resources WHERE kind = 'template' AND project = 'default' AND name > ? ORDER BY name LIMIT ?"


class Filled:
    """A store with so many templates, and the plain driver beside it."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.rows = rows
        self.folder = folder
        self.store = Store.open(folder, Threads())
        self.random = Random(rows)
        first = self.store.write(lambda tx: resources.create(tx, ref(0), DOCUMENT))
        for start in range(1, rows, FILL):
            self.store.write(partial(_copy, first=first, numbers=range(start, min(start + FILL, rows))))
        self.store._writing.driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.raw = sqlite3.connect(folder / "state.db", isolation_level=None)
        self._step = itertools.count()
        self.waits: list[float] = []

    def names(self, count: int) -> list[str]:
        return [f"t{self.random.randrange(self.rows)}" for _ in range(count)]

    def updates(self) -> int:
        for name in self.names(UPDATES):
            began = time.perf_counter()
            self.store.write(partial(_relabel, name=name, annotation=str(next(self._step))))
            self.waits.append(time.perf_counter() - began)
        return UPDATES

    def close(self) -> None:
        self.raw.close()
        self.store.close()


def measure(rows: int = ROWS) -> Iterator[Figure]:
    """Goals are for 1,000,000: `size=1000000`."""
    with tempfile.TemporaryDirectory() as folder:
        many = Filled(Path(folder) / "many", rows)
        few = Filled(Path(folder) / "few", FEW)
        label = f"B10 {rows:,}"
        yield _gets(f"{label} get", many)
        yield _pages(f"{label} page", many)
        small, large = interleaved(ROUNDS, few.updates, many.updates)
        share = large / small
        text_ = f"{share:.2f} × the rate at {FEW:,} ({large:.0f} of {small:.0f}/s)"
        yield Figure(f"{label} update", text_, "≥ 0.5 ×", share >= 0.5)
        log = (many.folder / "state.db-wal").stat().st_size / 2**20
        late = percentile(many.waits, 0.999) * 1e3
        ok = log <= 64 and late <= 25
        yield Figure(f"{label} log", f"{log:.1f} MB, p99.9 of a write {late:.1f} ms", "≤ 64 MB, ≤ 25 ms", ok)
        many.close()
        few.close()


def _gets(label: str, filled: Filled) -> Figure:
    def raw(name: str) -> object:
        return filled.raw.execute(BY_NAME, (name,)).fetchone()

    with filled.store.read() as tx:
        theirs, ours = _by_turns(
            filled.names(READS), raw, lambda name: resources.find(tx, Ref("template", name, "default"))
        )
    figure = f"{ours / theirs:.1f} × raw SQL ({ours * 1e6:.0f} of {theirs * 1e6:.0f} µs)"
    return Figure(label, figure, "p50 ≤ 3 ×", ours <= 3 * theirs)


def _pages(label: str, filled: Filled) -> Figure:
    def raw(name: str) -> object:
        return filled.raw.execute(SOME, (name, PAGE)).fetchall()

    with filled.store.read() as tx:
        after = filled.names(READS // 50)
        theirs, ours = _by_turns(
            after, raw, lambda name: list(map(shown.text_of, paging.page(tx, *TEMPLATES, ("default", name), PAGE)))
        )
    figure = f"{ours / theirs:.1f} × raw SQL ({ours * 1e3:.1f} of {theirs * 1e3:.1f} ms)"
    return Figure(label, figure, "p50 ≤ 2 ×", ours <= 2 * theirs)


def _by_turns(names: list[str], *sides: Callable[[str], object]) -> list[float]:
    """The median of each side in seconds; one comes first half of the time, so that both find cold pages."""
    taken: list[list[float]] = [[] for _ in sides]
    for number, name in enumerate(names):
        order = list(enumerate(sides))
        for side, work in order if number % 2 else reversed(order):
            began = time.perf_counter()
            work(name)
            taken[side].append(time.perf_counter() - began)
    return [median(side) for side in taken]


def ref(number: int) -> Ref:
    return Ref("template", f"t{number}", "default")


def _copy(tx: Tx, first: AnyResource, numbers: range) -> None:
    row = row_of(with_texts(first))
    same = {"kind": "template", "project": "default", "owner": None, "created_at": first.created_at}
    made = []
    for number in numbers:
        spec = row["spec"].replace("NUMBER", str(number))
        mine = {**row, "spec": spec, "uid": f"{number:08}-0000-4000-8000-000000000000", "name": f"t{number}", **same}
        made.append({**mine, "checksum": checksum(mine)})
    tx.write(INSERT, made)


def _relabel(tx: Tx, name: str, annotation: str) -> None:
    found = resources.get(tx, Ref("template", name, "default"))
    resources.replace(tx, found, annotations={"step": annotation})
