"""The line of reservations that wait: the oldest first, less those that another pass works on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from resources.reference import Ref
from resources.reservation import ReservationStatus
from store import queue, resources
from store.pauses import PAUSED
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

SPEC = {"pool": "local", "devices": [{"class": "gpu", "count": 1}]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    clock = Clocked()
    opened = Store.open(tmp_path, clock)
    opened.write(lambda tx: resources.create(tx, POOL, a_pool()))
    for name in "cab":
        opened.write(lambda tx, name=name: resources.create(tx, ref(name), SPEC))
        clock.time += 1
    yield opened
    opened.close()


def ref(name: str) -> Ref:
    return Ref("reservation", name, "default")


def line(store: Store, own: str) -> list[str]:
    fleet = Fleet(store)
    fleet.hydrate()
    with store.read() as tx:
        waiting, leader = SnapshotReader(tx, fleet, 0.0).line("local", ref(own))
    return [one.name for one in waiting] + ([] if leader is None else [f"behind {leader.name}"])


@pytest.mark.req("P14")
def test_those_that_wait_stand_in_the_order_in_which_they_came(store: Store) -> None:
    assert line(store, "a") == ["c", "a", "b"]
    booked = ReservationStatus(phase="active")
    store.write(lambda tx: resources.replace_status(tx, resources.get(tx, ref("c")), booked))
    assert line(store, "a") == ["a", "b"]


@pytest.mark.req("P16")
def test_what_another_pass_works_on_is_passed_over_and_not_waited_for(store: Store) -> None:
    def take(tx) -> list[str]:
        claims = queue.claim(tx, limit=10, token=iter("123456789").__next__, backoff=lambda _errors: 1.0)
        for claim in claims:
            if claim.ref.name not in ("a", "c"):
                queue.release(tx, claim)
        return [claim.ref.name for claim in claims]

    assert {"a", "b", "c"} <= set(store.write(take))
    assert line(store, "c") == ["c", "b"]
    assert line(store, "a") == ["a", "b", "behind c"]
    assert line(store, "b") == ["b", "behind c"]


def test_a_paused_one_holds_nobody_up(store: Store) -> None:
    store.write(lambda tx: resources.replace(tx, resources.get(tx, ref("c")), document=SPEC, annotations={PAUSED: "x"}))
    assert line(store, "a") == ["a", "b"]
