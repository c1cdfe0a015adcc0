"""Group commit: each request alone in its savepoint, nobody acknowledged for what was rolled back."""

from __future__ import annotations

import sqlite3
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


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_write_or_a_read_that_dies_leaves_no_transaction_open(store: Store, end: type[BaseException]) -> None:
    def dying(tx):
        tx.write(PUT, {"name": "half"})
        raise end

    with pytest.raises(end):
        store.write(dying)
    first, second, third = together(store, put("a"), dying, put("c"))
    assert (first, type(second), third) == (1, end, 1)
    with pytest.raises(end), store.read():
        raise end
    assert names(store) == {"a", "c"}


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


def test_who_finds_nobody_writing_writes_on_its_own(store: Store) -> None:
    seen = store.write(lambda _tx: threading.current_thread())
    assert seen is threading.current_thread()


def test_writes_handed_in_together_stand_and_fall_each_for_itself(store: Store) -> None:
    def refused(_tx):
        raise RuntimeError("no")

    before = store.writer.commits
    first, second, third = store.write_all([put("a"), refused, put("c")])
    assert (first.result, str(second.error), third.result) == (1, "no", 1)
    assert (names(store), store.writer.commits - before) == ({"a", "c"}, 1)


def test_handing_in_nothing_waits_for_nobody(store: Store) -> None:
    hold, held = threading.Event(), threading.Event()

    def block(_tx):
        held.set()
        hold.wait()

    blocker = threading.Thread(target=store.write, args=(block,))
    blocker.start()
    held.wait()
    assert store.write_all(()) == []
    hold.set()
    blocker.join()


class Rides:
    """A rider that puts a name beside every write that says so."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name = name
        self.error = error
        self.told: list[object] = []

    def wants(self, notes):
        return bool(notes)

    def ride(self, tx):
        put(self.name)(tx)
        if self.error is not None:
            raise self.error
        return self.name

    def arrived(self, result):
        self.told.append(result)


def noted(name: str):
    def fn(tx):
        tx.note(Woken(None, 1.0))
        return put(name)(tx)

    return fn


def test_a_rider_shares_the_commit_of_the_write_that_it_was_waiting_for(store: Store) -> None:
    rider = Rides("r")
    store.ride(rider)
    before = store.writer.commits
    store.write(put("a"))
    alone = list(rider.told)
    store.write(noted("b"))
    assert (alone, rider.told, names(store), store.writer.commits - before) == ([], ["r"], {"a", "b", "r"}, 2)


def test_a_rider_that_fails_takes_nobody_with_it(store: Store) -> None:
    rider = Rides("r", RuntimeError("no"))
    store.ride(rider)
    assert store.write(noted("a")) == 1
    assert (rider.told, names(store)) == ([], {"a"})


def test_a_rider_does_not_ride_with_a_write_that_failed(store: Store) -> None:
    rider = Rides("r")
    store.ride(rider)

    def failing(tx):
        noted("a")(tx)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.write(failing)
    assert (rider.told, names(store)) == ([], set())


def test_a_listener_that_fails_does_not_bring_a_stored_write_back(store: Store) -> None:
    """Its error is a fault of the program; the write stands, and stands once."""

    def broken(_notes):
        raise sqlite3.OperationalError("no such table")

    store.subscribe(broken)
    runs: list[str] = []

    def counted(tx):
        runs.append("a")
        return noted("a")(tx)

    with pytest.raises(sqlite3.OperationalError):
        store.write(counted)
    assert (names(store), runs) == ({"a"}, ["a"])


def test_a_fault_of_a_listener_stops_no_later_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are those that waited with it told that all is well."""
    monkeypatch.setattr("controllers.runtime.environment.AGAIN_SECONDS", 0.0)
    faults = iter([LookupError("a listener's fault")])

    def fault(notes):
        if len(notes) == 2:
            raise next(faults)

    store.subscribe(fault)
    answers = together(store, noted("a"), noted("b"))
    assert [type(answer) for answer in answers] == [LookupError, LookupError]
    assert together(store, put("c"), put("d")) == [1, 1]
    assert names(store) == {"a", "b", "c", "d"}
