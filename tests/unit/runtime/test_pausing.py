"""Passes over what is paused, over what fails, and what a hold keeps from being begun."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.runtime.decision import Decision, Facts
from controllers.runtime.effects import EffectWorkers
from controllers.runtime.fleet import Fleet
from controllers.runtime.passes import Passes
from resources import conditions
from resources.conditions import Condition, condition
from resources.effect import Effect
from resources.reference import Ref
from resources.registry import BY_NAME
from store import effects, holds, queue, resources
from store.pauses import PAUSED
from store.store import Store
from tests.builders import POOL, a_bundle, a_pool
from tests.clocked import Clocked

BUNDLE = Ref("bundle", "ch-1", "default")
JOB = Ref("job", "ch-1.primary.encode", "default")
NODE = Ref("node", "node-a")
ENTRY = {"bundle": "ch-1", "role": "primary", "index": 0, "jobName": "encode", "pool": POOL.name, "command": ["x"]}


class Content:
    """A controller that finds everything well, and counts how often it was asked."""

    places = False

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.asked = 0
        self.fault: Exception | None = None

    def observe(self, resource: Any, reader: Any) -> None:
        self.asked += 1

    def decide(self, resource: Any, view: None, facts: Facts) -> Decision:
        if self.fault is not None:
            raise self.fault
        told = (condition("Ready", True, "Fine"), condition("Other", True, "Known"))
        return Decision(BY_NAME[self.kind].status(conditions=told))


class House:
    """A pool with a node, a bundle and its job, and passes over them."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clocked()
        self.store = Store.open(folder, self.clock)
        fleet = Fleet(self.store)
        fleet.hydrate()
        self.controllers = {kind: Content(kind) for kind in ("pool", "node", "bundle", "job")}
        self.passes = Passes(self.store, fleet, self.clock, self.controllers, started_at=1000.0)
        self.store.write(self._fill)
        self.settle()

    def _fill(self, tx: Any) -> None:
        resources.create(tx, POOL, a_pool())
        resources.create(tx, NODE, {"pool": POOL.name})
        bundle = resources.create(tx, BUNDLE, a_bundle(pool=POOL.name))
        asks = {"requirements": {"requiredCapacity": 1, "onRuntimeFailure": "drop"}}
        resources.create(tx, JOB, {**ENTRY, **asks}, owner=bundle.uid)

    def settle(self) -> None:
        """Passes until nothing is due."""
        for _ in range(50):
            due = self.store.write(
                lambda tx: queue.claim(tx, limit=1, token=self.clock.token, backoff=lambda _errors: 1.0)
            )
            if not due:
                return
            self.passes.run(due[0])
        raise AssertionError("it never settles")

    def annotate(self, ref: Ref, **annotations: str) -> None:
        named = {PAUSED: annotations["paused"]} if annotations else {}
        self.store.write(lambda tx: resources.replace(tx, resources.get(tx, ref), annotations=named))
        self.settle()

    def ready(self, ref: Ref) -> Condition:
        with self.store.read() as tx:
            found = conditions.find(resources.get(tx, ref).status.conditions, "Ready")
        assert found is not None
        return found

    def reasons(self) -> dict[str, str]:
        return {ref.kind: self.ready(ref).reason for ref in (POOL, NODE, BUNDLE, JOB)}

    def asked(self) -> dict[str, int]:
        return {kind: controller.asked for kind, controller in self.controllers.items()}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path / "data")
    yield made
    made.store.close()


WELL = dict.fromkeys(("pool", "node", "bundle", "job"), "Fine")


@pytest.mark.parametrize(
    ("ref", "paused"),
    [(JOB, {"job"}), (BUNDLE, {"bundle", "job"}), (NODE, {"node"}), (POOL, {"pool", "node", "bundle", "job"})],
)
def test_a_pause_holds_what_stands_below_and_nothing_else(house: House, ref: Ref, paused: set[str]) -> None:
    assert house.reasons() == WELL
    before = house.asked()
    house.annotate(ref, paused="because")
    assert house.reasons() == WELL | dict.fromkeys(paused, "Paused")
    house.store.write(lambda tx: [queue.enqueue(tx, one) for one in (POOL, NODE, BUNDLE, JOB)])
    house.settle()
    assert not any(house.asked()[kind] > before[kind] for kind in paused)
    assert all(house.asked()[kind] > before[kind] for kind in WELL.keys() - paused)
    house.annotate(ref)
    assert house.reasons() == WELL


def test_everything_but_ready_stays_as_it_was_known(house: House) -> None:
    house.annotate(BUNDLE, paused="a look")
    with house.store.read() as tx:
        bundle = resources.get(tx, BUNDLE)
    assert [(one.type, one.status) for one in bundle.status.conditions] == [("Ready", "False"), ("Other", "True")]
    assert house.ready(BUNDLE).message == "is paused: a look; rmctl resume bundle/ch-1 lets it go on"
    assert house.ready(JOB).message == "is paused with bundle/ch-1: a look; rmctl resume bundle/ch-1 lets it go on"
    version = bundle.resource_version
    house.store.write(lambda tx: queue.enqueue(tx, BUNDLE))
    house.settle()
    with house.store.read() as tx:
        assert resources.get(tx, BUNDLE).resource_version == version


def test_what_is_being_deleted_is_decided_all_the_same(house: House) -> None:
    house.annotate(BUNDLE, paused="")
    before = house.asked()["bundle"]
    house.store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, BUNDLE)))
    house.settle()
    assert house.asked()["bundle"] == before + 1


def test_a_failure_is_told_in_ready_from_the_second_time_on_and_taken_back(house: House) -> None:
    controller = house.controllers["pool"]
    controller.fault = RuntimeError("no such luck")
    house.store.write(lambda tx: queue.enqueue(tx, POOL))
    house.settle()
    assert house.ready(POOL).reason == "Fine"
    house.clock.time += 5
    house.settle()
    told = house.ready(POOL)
    assert (told.status, told.reason) == ("False", "ReconcileFailed")
    assert told.message == "cannot be worked on, and is tried again: RuntimeError: no such luck"
    controller.fault = None
    house.clock.time += 5
    house.settle()
    assert house.ready(POOL).reason == "Fine"


class Idle:
    """A driver that must not be called."""

    provider = "agents"
    creates = frozenset({"StartJob"})

    def observe(self, effect: Any, reader: Any) -> Any:
        raise AssertionError("nothing is observed")

    def apply(self, effect: Any) -> Any:
        raise AssertionError("nothing is applied")


def test_a_hold_keeps_effects_from_being_taken(house: House) -> None:
    fleet = Fleet(house.store)
    fleet.hydrate()
    workers = EffectWorkers(house.store, fleet, house.clock, Idle(), started_at=1000.0)
    effect = Effect("StartJob", "start/1/1", "agents", {"x": 1}, target="node-a")
    house.store.write(lambda tx: effects.record(tx, resources.get(tx, JOB), effect))
    house.store.write(lambda tx: holds.put(tx, "a storm", "ana"))
    assert house.store.write(lambda tx: workers._take(tx, 8)) == ()
    assert house.store.write(holds.lift) is True
    (claimed,) = house.store.write(lambda tx: workers._take(tx, 8))
    assert claimed.record.key == "start/1/1"
