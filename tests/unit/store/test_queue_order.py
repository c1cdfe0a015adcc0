"""In which order keys are served, and that a long queue costs no more than a short one."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.reference import Ref
from store import queue
from store.statements import Statement
from store.store import Store
from store.tables import queue as table
from store.tx import Tx
from tests.clocked import Clocked

LONG, SHORT = 100_000, 1_000


def put(store: Store, clock: Clocked, kind: str, name: str, at: float) -> None:
    clock.time = at
    store.write(lambda tx: queue.enqueue(tx, Ref(kind, name)))


def take(store: Store, clock: Clocked, limit: int = 1) -> list[str]:
    claims = store.write(lambda tx: queue.claim(tx, limit=limit, token=clock.token, backoff=lambda _: 1.0))
    for claim in claims:
        store.write(lambda tx, claim=claim: queue.settle(tx, claim))
    return [claim.ref.name for claim in claims]


@pytest.mark.req("T27")
def test_keys_of_one_kind_are_served_in_the_order_in_which_they_became_due(store: Store, clock: Clocked) -> None:
    for name, at in (("b", 1000.0), ("c", 1001.0), ("a", 1002.0)):
        put(store, clock, "pool", name, at)
    assert [take(store, clock) for _ in range(4)] == [["b"], ["c"], ["a"], []]


@pytest.mark.req("T27")
def test_a_kind_that_is_always_busy_starves_no_other(store: Store, clock: Clocked) -> None:
    """Every key of the busy kind is due again as soon as it was served."""
    for number in range(10):
        put(store, clock, "job", f"j-{number}", 1000.0)
    put(store, clock, "pool", "p", 1000.5)
    served: list[str] = []
    while "p" not in served:
        clock.time += 0.1
        (name,) = take(store, clock)
        served.append(name)
        if name != "p":
            put(store, clock, "job", name, clock.time)
    assert served == [*(f"j-{number}" for number in range(10)), "p"]


@pytest.mark.req("T27")
def test_interruptions_come_before_drains_and_drains_before_the_rest(store: Store, clock: Clocked) -> None:
    for kind, at in (("job", 1000.0), ("drain", 1010.0), ("interruption", 1020.0)):
        put(store, clock, kind, kind, at)
    assert [take(store, clock) for _ in range(3)] == [["interruption"], ["drain"], ["job"]]


@pytest.mark.req("T27")
def test_who_has_waited_longer_than_a_head_start_comes_first(store: Store, clock: Clocked) -> None:
    started = 1000.0 + queue.HEAD_STARTS["interruption"]
    for kind, name, at in (("job", "old", 999.0), ("job", "new", 1001.0), ("interruption", "i", started)):
        put(store, clock, kind, name, at)
    assert take(store, clock, limit=3) == ["old", "i", "new"]


@pytest.mark.req("T26")
def test_due_keys_come_from_an_index_without_a_scan_or_a_sort(store: Store) -> None:
    with store.read() as tx:
        due, next_due, urgent = (_explain(tx, statement) for statement in (queue._due, queue._next, queue._urgent))
    assert due == ["SEARCH queue USING INDEX ix_queue_lane_available_at (lane=? AND available_at<?)"]
    assert next_due == ["SEARCH queue USING INDEX ix_queue_lane_available_at (lane=?)"]
    assert urgent[0] == "SEARCH queue USING INDEX sqlite_autoindex_queue_1 (kind=?)"


def _explain(tx: Tx, statement: Statement) -> list[str]:
    sql = str(statement.element.compile(dialect=tx.connection.dialect))
    driver = tx.connection.connection.dbapi_connection
    rows = driver.execute(f"EXPLAIN QUERY PLAN {sql}", [1] * sql.count("?"))
    return [row[-1] for row in rows]


@pytest.mark.req("T26")
def test_a_claim_from_a_hundred_thousand_ready_keys_is_as_much_work_as_from_a_thousand(
    tmp_path: Path, clock: Clocked
) -> None:
    """Work is counted in steps of SQLite's virtual machine."""
    steps = []
    for count in (SHORT, LONG):
        store = Store.open(tmp_path / str(count), clock, synchronous="OFF")
        store.write(lambda tx, count=count: tx.write(table.insert(), [_row(number) for number in range(count)]))
        steps.append([_steps(store, clock) for _ in range(5)])
        store.close()
    short, long = (sorted(found)[2] for found in steps)
    assert long <= 1.2 * short


def _row(number: int) -> dict[str, object]:
    name = {"kind": "job", "project": "default", "name": f"j-{number}"}
    times = {"available_at": 900.0 + number / LONG, "enqueued_at": 900.0}
    return {**name, **times, "wakes": 1, "errors": 0, "conflicts": 0, "lease_generation": 0}


def _steps(store: Store, clock: Clocked) -> int:
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    driver = store.writer._held.driver
    driver.set_progress_handler(step, 1)
    assert len(take(store, clock)) == 1
    driver.set_progress_handler(None, 1)
    return count
