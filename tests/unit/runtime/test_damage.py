"""Rows and pages that cannot be read: they cost their own key its passes, and no worker its life."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controllers.runtime import failing
from controllers.runtime.decision import Decision
from controllers.runtime.effects import EffectWorkers
from controllers.runtime.fleet import Fleet
from controllers.runtime.passes import Passes
from resources.conditions import condition
from resources.effect import Absent, Applied, Effect
from resources.pool import PoolStatus
from resources.reference import Ref
from store import effects, queue, resources
from store.store import Store
from store.tables import effects as effect_table
from store.tables import resources as table
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

READY = PoolStatus(conditions=(condition("Ready", True, "HasCapacity"),))
START = Effect("StartJob", "start/1/1", "agents", {"x": 1}, target="n")
BAD, GOOD = Ref("pool", "bad"), Ref("pool", "good")


class FailsForOne:
    kind = "pool"
    places = False

    def observe(self, resource, reader):
        return None

    def decide(self, resource, view, facts):
        if resource.ref == BAD:
            raise RuntimeError("broken")
        return Decision(READY)


class Driver:
    provider = "agents"
    creates = frozenset({"StartJob"})

    def __init__(self) -> None:
        self.calls: list[str] = []

    def observe(self, effect, reader):
        self.calls.append("observe")
        return Absent()

    def apply(self, effect):
        self.calls.append("apply")
        return Applied("i-1")


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr("controllers.runtime.environment.AGAIN_SECONDS", 0.0)
    clock = Clocked()
    store = Store.open(tmp_path, clock)
    fleet = Fleet(store)
    fleet.hydrate()
    passes = Passes(store, fleet, clock, {"pool": FailsForOne()}, workers=1, together=1, started_at=1000.0)
    yield SimpleNamespace(clock=clock, store=store, fleet=fleet, passes=passes)
    store.close()


def until_settled(house: Any, ref: Ref) -> None:
    came = house.clock.signal()
    house.store.subscribe(lambda _notes: came.set())
    while True:
        with house.store.read() as tx:
            if resources.get(tx, ref).status.observed_generation and not [
                row for row in queue.list_all(tx) if row.name == ref.name
            ]:
                return
        came.wait(0.05)
        came.clear()


@pytest.mark.req("T19")
def test_a_failure_that_cannot_be_stored_leaves_its_worker_alive(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def malformed(tx, claim, error):
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(failing, "tell", malformed)
    house.store.write(lambda tx: resources.create(tx, BAD, a_pool()))
    house.store.write(lambda tx: resources.create(tx, GOOD, a_pool()))
    house.passes.start()
    until_settled(house, GOOD)
    house.passes.stop()
    with house.store.read() as tx:
        (row,) = queue.list_all(tx)
    assert (row.name, row.errors, row.expires_at) == ("bad", 0, house.clock.time + queue.LEASE_SECONDS)


def test_a_worker_that_fails_altogether_works_on(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No snapshot can be opened, say, since too many files are open."""
    faults = iter([sqlite3.OperationalError("unable to open database file")])
    decided = Passes._decided

    def once_broken(self, claims):
        for fault in faults:
            raise fault
        return decided(self, claims)

    monkeypatch.setattr(Passes, "_decided", once_broken)
    house.store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    house.store.write(lambda tx: resources.create(tx, GOOD, a_pool()))
    house.passes.start()
    until_settled(house, GOOD)
    house.passes.stop()


@pytest.mark.req("T34")
def test_an_effect_whose_owner_cannot_be_read_is_left_alone_until_it_can(house: Any) -> None:
    """Whether it is still wanted cannot be told, and no worker dies of the question."""
    driver = Driver()
    workers = EffectWorkers(house.store, house.fleet, house.clock, driver, started_at=1000.0)
    made = house.store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    house.store.write(lambda tx: effects.record(tx, made, START))

    def attempt() -> tuple[str, list[str]]:
        (held,) = house.store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=house.clock.token))
        workers.run(held)
        with house.store.read() as tx:
            return effects.find(tx, made.uid, START.key).state, driver.calls

    spoil = lambda change: house.store.write(
        lambda tx: tx.write(table.update().values(checksum=table.c.checksum + change))
    )
    spoil(1)
    assert attempt() == ("pending", [])
    spoil(-1)
    house.clock.time += 60.0
    assert attempt() == ("applied", ["observe", "apply"])


@pytest.mark.parametrize("request_", ['{"x":2}', "{}"])
def test_an_effect_that_asks_for_something_else_than_it_was_recorded_with_is_never_applied(
    house: Any, request_: str
) -> None:
    driver = Driver()
    workers = EffectWorkers(house.store, house.fleet, house.clock, driver, started_at=1000.0)
    made = house.store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    house.store.write(lambda tx: effects.record(tx, made, START))
    house.store.write(lambda tx: tx.write(effect_table.update().values(request=request_)))
    (held,) = house.store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=house.clock.token))
    workers.run(held)
    with house.store.read() as tx:
        found = effects.find(tx, made.uid, START.key)
    assert (driver.calls, found.state, found.code) == ([], "rejected", "DAMAGED")


def test_an_effect_that_cannot_be_read_stands_in_nobodys_way(house: Any) -> None:
    made = house.store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    house.store.write(lambda tx: effects.record(tx, made, START))
    house.store.write(lambda tx: tx.write(effect_table.update().values(request="{")))
    other = Effect("StartJob", "start/1/2", "agents", {"x": 1}, target="n")
    house.store.write(lambda tx: effects.record(tx, made, other))

    def taken() -> list[str]:
        take = lambda tx: effects.claim(tx, "agents", limit=1, token=house.clock.token)
        return [held.record.key for held in house.store.write(take)]

    assert [*taken(), *taken()] == ["start/1/2"]
