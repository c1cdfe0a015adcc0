"""A disk that is full: nobody is told yes for what is lost, and everything goes on once there is room."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import text

from controllers.registry import CONTROLLERS
from controllers.runtime.environment import Threads
from controllers.runtime.manager import Manager
from resources.reference import Ref
from store import queue, resources
from store.errors import Full
from store.store import Store
from tests.builders import POOL, a_bundle, a_job_entry, a_pool
from tests.clocked import Clocked

PUT = text("INSERT INTO meta VALUES (:name, :value)")
NO_LIMIT = 1 << 30


def limit(store: Store, pages: int | None) -> None:
    """So many more pages than there are, on the connection that writes; None takes the limit away."""
    driver = store.writer._held.driver
    (now,) = driver.execute("PRAGMA page_count").fetchone()
    driver.execute(f"PRAGMA max_page_count={NO_LIMIT if pages is None else now + pages}")


@pytest.mark.req("B113")
@pytest.mark.parametrize("seed", range(25))
def test_of_a_batch_that_is_rolled_back_those_are_acknowledged_that_are_stored(
    tmp_path: Path, clock: Clocked, seed: int
) -> None:
    """Some fit and some do not; whoever shares a transaction with one that does not is written again or told no."""
    random = Random(seed)
    store = Store.open(tmp_path, clock)
    limit(store, random.randrange(6))
    told: set[str] = set()
    for batch in range(4):
        sizes = {f"{batch}-{number}": random.choice([10, 10, 500, 6_000, 40_000]) for number in range(6)}
        puts = [partial(_put, name=name, size=size) for name, size in sizes.items()]
        answers = store.write_all(puts)
        assert all(answer.error is None or isinstance(answer.error, Full) for answer in answers)
        told |= {name for name, answer in zip(sizes, answers, strict=True) if answer.error is None}
    limit(store, None)
    store.close()
    again = Store.open(tmp_path, clock)
    with again.read() as tx:
        stored = set(tx.execute(text("SELECT name FROM meta WHERE name != 'store'")).scalars())
    again.close()
    assert stored == told


def _put(tx, name: str, size: int) -> None:
    tx.write(PUT, {"name": name, "value": "x" * size})


@pytest.mark.req("B113")
def test_a_manager_outlives_a_full_disk_and_works_off_what_came_before(tmp_path: Path) -> None:
    store = Store.open(tmp_path, Threads())
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    manager = Manager(store, Threads(), {c.kind: c for c in CONTROLLERS}, [], workers=2)
    looked = threading.Event()
    store.subscribe(lambda _notes: looked.set())
    manager.start()
    limit(store, 3)
    told: list[str] = []
    while _created(store, f"b-{len(told)}"):
        told.append(f"b-{len(told)}")
    with store.read() as tx:
        assert {bundle.name for bundle in resources.list_all(tx, "bundle")} == set(told)
    limit(store, None)
    store.write(lambda tx: resources.create(tx, Ref("bundle", "last", "default"), _large()))
    while not _worked_off(store, len(told) + 1):
        looked.wait(0.2)
        looked.clear()
    manager.stop()
    store.close()


def _created(store: Store, name: str) -> bool:
    """False once the disk is full."""
    try:
        store.write(partial(resources.create, ref=Ref("bundle", name, "default"), document=_large()))
    except Full:
        return False
    return True


def _large():
    return a_bundle(a_job_entry(env={"WORDS": "x" * 5000}))


def _worked_off(store: Store, count: int) -> bool:
    with store.read() as tx:
        waits = any(row.kind == "bundle" for row in queue.list_all(tx))
        return len(resources.list_all(tx, "job")) == count and not waits


class Steady(Clocked):
    """One clock for both."""

    def monotonic(self) -> float:
        return self.time


def test_silence_while_nothing_can_be_stored_is_the_servers_own(tmp_path: Path) -> None:
    """A node whose heartbeats found no room is not lost the moment there is some."""
    clock = Steady()
    store = Store.open(tmp_path, clock)
    limit(store, 0)
    clock.time = 1300.0
    with pytest.raises(Full):
        store.write(partial(_put, name="big", size=1_000_000))
    limit(store, None)
    clock.time = 1310.0
    assert (store.heard_since(1000.0), store.heard_since(1305.0)) == (1300.0, 1305.0)
    store.close()
