"""Group commit: each request alone in its savepoint, nobody acknowledged for what was rolled back."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from store.errors import Full, WriteInsideWrite
from store.notes import Woken
from store.store import Store

PUT = text("INSERT INTO meta VALUES (:name, '1')")


def names(store: Store) -> set[str]:
    with store.read() as tx:
        return set(tx.execute(text("SELECT name FROM meta WHERE name != 'store'")).scalars())


def together(store: Store, *functions) -> list[object]:
    """Run functions as one batch: the writer is held until all of them wait."""
    hold, held = threading.Event(), threading.Event()
    results: list[object] = [None] * len(functions)

    def block(_tx):
        held.set()
        hold.wait()

    def one(number: int, fn) -> None:
        try:
            results[number] = store.write(fn)
        except BaseException as error:
            results[number] = error

    blocker = threading.Thread(target=store.write, args=(block,))
    blocker.start()
    held.wait()
    threads = [threading.Thread(target=one, args=(n, fn)) for n, fn in enumerate(functions)]
    for thread in threads:
        thread.start()
    while len(store.writer._open.requests) < len(functions):
        threading.Event().wait(0.001)
    hold.set()
    for thread in (blocker, *threads):
        thread.join()
    return results


def put(name: str):
    return lambda tx: tx.write(PUT, {"name": name}).rowcount


def test_waiting_writes_share_one_commit(store: Store) -> None:
    before = store.writer.commits
    assert together(store, put("a"), put("b"), put("c")) == [1, 1, 1]
    assert (names(store), store.writer.commits - before) == ({"a", "b", "c"}, 2)


def test_one_failing_request_takes_nobody_with_it(store: Store) -> None:
    def half(tx):
        tx.write(PUT, {"name": "half"})
        raise RuntimeError("no")

    first, second, third = together(store, put("a"), half, put("c"))
    assert (first, str(second), third, names(store)) == (1, "no", 1, {"a", "c"})


def test_when_the_transaction_is_gone_every_survivor_runs_again_before_it_is_answered(store: Store) -> None:
    """SQLite rolls everything back on a full disk; whoever shared the batch must not be told yes for what is lost."""
    runs: list[str] = []

    def counted(name: str):
        def fn(tx):
            runs.append(name)
            return tx.write(PUT, {"name": name}).rowcount

        return fn

    def full(tx):
        tx.write(text("ROLLBACK"))
        raise RuntimeError("gone")

    first, second, third = together(store, counted("a"), full, counted("c"))
    assert (first, str(second), third) == (1, "gone", 1)
    assert (names(store), runs) == ({"a", "c"}, ["a", "a", "c"])


@pytest.mark.req("B113")
def test_a_full_disk_is_named_and_heals(store: Store) -> None:
    pages = store.write(lambda tx: tx.execute(text("PRAGMA page_count")).scalar_one())
    connection = store.writer._held.driver
    connection.execute(f"PRAGMA max_page_count={pages}")
    fill = lambda tx: tx.write(text("INSERT INTO meta VALUES ('big', :b)"), {"b": "x" * 1_000_000})
    with pytest.raises(Full, match="disk full"):
        store.write(fill)
    assert names(store) == set()
    connection.execute("PRAGMA max_page_count=1000000")
    store.write(fill)
    assert names(store) == {"big"}


def test_a_write_inside_a_write_raises(store: Store) -> None:
    with pytest.raises(WriteInsideWrite):
        store.write(lambda tx: store.write(put("inner")))
    assert names(store) == set()


def test_listeners_hear_of_committed_work_only_and_before_the_caller_goes_on(store: Store) -> None:
    heard: list[object] = []
    store.subscribe(heard.extend)

    def noted(tx):
        tx.write(PUT, {"name": "a"})
        tx.note(Woken(None, 1.0))
        return list(heard)

    def failing(tx):
        tx.note(Woken(None, 2.0))
        raise RuntimeError

    assert store.write(noted) == []
    assert heard == [Woken(None, 1.0)]
    with pytest.raises(RuntimeError):
        store.write(failing)
    assert heard == [Woken(None, 1.0)]
