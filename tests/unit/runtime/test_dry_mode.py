"""A server that only records effects: everything is decided and written down, nothing is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controllers.runtime.decision import Decision, Facts
from controllers.runtime.manager import Manager
from resources.conditions import condition
from resources.effect import Absent, Applied, Effect, EffectRecord
from resources.pool import PoolStatus
from store import effects, holds, resources
from store.store import Store
from store.tx import Tx
from tests.builders import POOL, a_pool
from tests.clocked import Clocked


class Starting:
    """Wants one effect for every pool."""

    kind = "pool"
    places = False

    def observe(self, resource: Any, reader: Any) -> None:
        return None

    def decide(self, resource: Any, view: None, facts: Facts) -> Decision:
        status = PoolStatus(conditions=(condition("Ready", True, "HasCapacity"),))
        return Decision(status, effects=(Effect("StartJob", "start/1/1", "agents", {"x": 1}),))


class Driver:
    provider = "agents"
    creates = frozenset({"StartJob"})

    def __init__(self) -> None:
        self.calls: list[str] = []

    def observe(self, effect: EffectRecord, reader: Any) -> Absent:
        self.calls.append("observe")
        return Absent()

    def apply(self, effect: EffectRecord) -> Applied:
        self.calls.append("apply")
        return Applied("i-1")


def until(store: Store, clock: Clocked, found: Callable[[Tx], bool]) -> None:
    looked = clock.signal()
    store.subscribe(lambda _notes: looked.set())
    while True:
        with store.read() as tx:
            if found(tx):
                return
        looked.wait(0.05)
        looked.clear()


def states(tx: Tx) -> list[str]:
    return [record.state for record in effects.list_all(tx)]


def held_by(store: Store) -> str | None:
    """Who keeps effects, and what an agent is asked to end at its return, from being begun."""
    with store.read() as tx:
        hold = holds.find(tx)
    return None if hold is None else hold.by


def served(store: Store, clock: Clocked, driver: Driver, *, dry: bool, found: Callable[[Tx], bool]) -> None:
    """One life of a manager, until then."""
    manager = Manager(store, clock, {"pool": Starting()}, [driver], workers=1, effect_workers=1, dry=dry)
    manager.start()
    until(store, clock, found)
    manager.stop()


@pytest.mark.req("T40")
def test_effects_are_recorded_and_not_begun_until_the_setting_goes(tmp_path: Path) -> None:
    clock, driver = Clocked(), Driver()
    store = Store.open(tmp_path, clock)
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    served(store, clock, driver, dry=True, found=lambda tx: states(tx) == ["pending"])
    assert (driver.calls, held_by(store)) == ([], "settings")
    served(store, clock, driver, dry=False, found=lambda tx: states(tx) == ["applied"])
    assert (driver.calls, held_by(store)) == (["apply"], None)
    store.close()


@pytest.mark.req("T40")
def test_a_hold_of_a_person_outlives_the_setting(tmp_path: Path) -> None:
    clock, driver = Clocked(), Driver()
    store = Store.open(tmp_path, clock)
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    store.write(lambda tx: holds.put(tx, "wait for me", by="ada"))
    for dry in (True, False):
        served(store, clock, driver, dry=dry, found=lambda tx: states(tx) == ["pending"])
    assert (driver.calls, held_by(store)) == ([], "ada")
    store.close()
