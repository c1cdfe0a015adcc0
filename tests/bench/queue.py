"""B4 and B5: items through the queue, one a call, against huey's and against a backlog."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import queue
from store.notes import Woken
from store.store import Store, notes_of
from store.tx import Tx
from tests.bench.figures import Figure, interleaved
from tests.bench.peers import Peer, peer

ROUNDS = 5
CALLERS = ((1, 200, 0.6), (8, 100, 4.0), (64, 40, 12.0))
"""Callers, items of each in a round, and the goal."""
BACKLOG = 100_000
SHORT = 1_000
FILL = 5_000


class Items:
    """A store's queue. Its callers put an item, work on one that was taken in a transaction that put some, as workers
    do, and settle it: two durable writes an item.
    """

    def __init__(self, folder: Path, backlog: int = 0) -> None:
        self._environment = Threads()
        self.store = Store.open(folder, self._environment)
        self._names = itertools.count()
        self._taken: deque[queue.Claim] = deque()
        for _ in range(0, backlog, FILL):
            self.store.write(lambda tx: [queue.enqueue(tx, self._key()) for _ in range(min(FILL, backlog))])
        self._put = 0
        self.store.ride(self)

    def work(self, callers: int, items: int) -> int:
        threads = [threading.Thread(target=self._some, args=(items,)) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return callers * items

    def wants(self, notes: Sequence[object]) -> bool:
        self._put = sum(1 for _ in notes_of(notes, Woken))
        return self._put > 0

    def ride(self, tx: Tx) -> tuple[queue.Claim, ...]:
        return queue.claim(tx, limit=self._put, token=self._environment.token, backoff=float)

    def arrived(self, result: tuple[queue.Claim, ...]) -> None:
        self._taken.extend(result)

    def _some(self, items: int) -> None:
        for _ in range(items):
            self.store.write(partial(queue.enqueue, ref=self._key()))
            self.store.write(partial(queue.settle, claim=self._taken.popleft()))

    def _key(self) -> Ref:
        return Ref("pool", f"item-{next(self._names)}")


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, peer("huey", Path(folder)) as huey:
        items = Items(Path(folder) / "data")
        for callers, each, share in CALLERS:
            yield _against(huey, items, callers, each, share)
        items.store.close()
    yield _against_backlog()


def _against(huey: Peer | str, items: Items, callers: int, each: int, share: float) -> Figure:
    name, goal = f"B4 {callers} caller{'s' * (callers > 1)}", f"≥ {share} × huey"
    if isinstance(huey, str):
        (ours,) = interleaved(ROUNDS, lambda: items.work(callers, each))
        return Figure(name, f"{ours:.0f}/s; no huey: {huey}", goal, None)
    theirs, ours = interleaved(ROUNDS, lambda: huey.work(callers, each), lambda: items.work(callers, each))
    return Figure(name, f"{ours / theirs:.2f} × huey {huey.version} ({theirs:.0f}/s)", goal, ours >= share * theirs)


def _against_backlog() -> Figure:
    """Eight callers, before them a short backlog and a long one."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = Items(Path(folder) / "short", SHORT), Items(Path(folder) / "long", BACKLOG)
        sides: list[Callable[[], int]] = [partial(side.work, 8, 40) for side in (short, long)]
        few, many = interleaved(ROUNDS, *sides)
        short.store.close()
        long.store.close()
    text = f"{many / few:.2f} × at {BACKLOG:,} ready ({many:.0f} of {few:.0f}/s)"
    return Figure("B5 backlog", text, f"≥ 0.8 × the rate at {SHORT:,}", many >= 0.8 * few)
