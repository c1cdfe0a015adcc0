"""Laws of the job controller, whatever agents, networks, people and clocks do to one job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.fences import fenced
from controllers.jobs import ids
from controllers.runtime.decision import Decision, Release, Reserve
from resources.effect import EffectRecord
from resources.job import JobStatus
from tests.controllers_stage import Stage, a_job
from tests.whole import share

NODES = ("node-a", "node-b", "node-c")
CHANGES: tuple[dict[str, Any], ...] = (
    {"command": ["other"]},
    {"command": ["run"]},
    {"active": False},
    {"active": True},
    {"active": True},
    {"placingStopped": True},
    {"placingStopped": False},
    {"placingStopped": False},
    {"onDisconnect": "replace"},
    {"onDisconnect": "stop"},
    {"onDisconnect": "hold"},
)


class World(Stage):
    """A stage whose processes really live, whatever is known of them. Passes are atomic here."""

    def __init__(self, random: Random) -> None:
        self.random = random
        requirements: dict[str, Any] = {
            "requiredCapacity": 3,
            "onRuntimeFailure": random.choice(["avoidSpare", "avoidSpare", "preferSpare", "drop"]),
            "maxRestartsPerHour": random.choice([None, 0, 2, 50, 50]),
        }
        rules = {
            "onDisconnect": random.choice(["replace", "stop", "hold"]),
            "restartOn": random.choice(["failure", "always"]),
        }
        super().__init__(a_job(requirements=requirements, **rules))
        for name in NODES[: random.choice([1, 2, 3])]:
            self.node(name)
        self.alive: dict[str, str] = {}
        """Instance to node."""
        self.best = (0, 0)
        self.seen: set[str] = set()

    # passes, and what must hold of each

    def a_pass(self) -> None:
        if self.gone:
            return
        before = self.view()
        decision = self.run()
        self._check_claims(before, decision)
        status = decision.status
        assert isinstance(status, JobStatus)
        named = (status.run_generation, status.attempt)
        assert named >= self.best, "an attempt was taken back"
        self.best = named
        ceiling = status.restarts.ceiling
        assert ceiling is None or len(status.restarts.at) <= ceiling
        assert all(later - earlier >= 5 for earlier, later in pairwise(status.restarts.at)), "restarts too close"
        assert not (status.terminal and any(isinstance(claim, Reserve) for claim in decision.claims))
        ready = self.condition("Ready")
        assert ready is not None
        assert ready.reason
        assert ready.message
        self.seen.add(f"{status.phase} {ready.reason}")
        if decision.requeue_after is None and not decision.effects:
            self._check_settled()

    def _check_settled(self) -> None:
        """Nobody will wake it but news, so neither another look nor time may find anything to do."""
        for later in (0.0, 100_000.0):
            self.now += later
            again = self.decide()
            self.now -= later
            assert (again.claims, again.effects, again.cancel, again.events) == ((), (), (), ()), "slept through"
            assert again.requeue_after is None

    def _check_claims(self, before: Any, decision: Decision) -> None:
        """Room goes back when its instance is over or its node is lost; a start needs everybody in reach to be over."""
        for claim in decision.claims:
            match claim:
                case Release(allocation_id=allocation):
                    held = next(a for a in before.allocations if a.id == allocation)
                    assert held.instance not in self.alive or before.node(held.node).lost, "room of the living"
                case Reserve(allocation=allocation):
                    near = [i for i, node in self.alive.items() if self.nodes[node].connected]
                    assert near == [], f"{allocation.id} beside {near}"
                    assert self.job.spec.on_disconnect == "replace" or not self.alive, "two of what must be one"

    def comes_to_rest(self) -> None:
        if not self.gone:
            decision = self.settle()
            assert (decision.effects, decision.claims) == ((), ())

    # what happens

    def goes_well(self) -> None:
        """Passes run, effects are taken where they can be, processes become ready."""
        for _ in range(3):
            self.a_pass()
            for effect in [e for e in self.effects.values() if not e.final and self.nodes[e.target].connected]:
                self._tried(effect, "taken")
            self._become_ready()
        self.a_pass()

    def time_passes(self) -> None:
        self.after(self.random.choice([0.5, 5.0, 5.0, 10.0, 60.0, 60.0, 4000.0]))

    def an_effect_is_tried(self) -> None:
        due = [e for e in self.effects.values() if not e.final and self.nodes[e.target].connected]
        if due:
            self._tried(
                self.random.choice(due), self.random.choice(["taken", "unheard", "unheard", "refused", "invalid"])
            )

    def _tried(self, effect: EffectRecord, outcome: str) -> None:
        """One whose outcome is not known is observed: what lives is found, what does not never will."""
        instance = effect.request["instance"]
        if effect.state == "indeterminate":
            known = instance in self.allocations or instance in self.instances
            living = instance in self.alive
            self.answer(effect.key, "applied" if living or not effect.cancelled else "rejected", code="cancelled")
            if known and (living or not effect.cancelled):
                self.told("running" if living else "exited", instance)
        elif effect.kind == "StopJob":
            self.answer(effect.key, "applied")
            if instance in self.alive:
                self._ends(instance, signal=15)
        elif outcome in ("refused", "invalid"):
            code = "JOB_REJECTED_INVALID_SPEC" if outcome == "invalid" else "JOB_REJECTED_NO_CAPACITY"
            self.answer(effect.key, "rejected", code=code, error="no")
        else:
            self.alive[instance] = effect.target
            self.answer(effect.key, "applied" if outcome == "taken" else "indeterminate")
            if outcome == "taken" and instance in self.allocations:
                self.told("running", instance)

    def withdraw(self, key: str) -> None:
        """Never tried: never done. Tried: observed first."""
        if self.effects[key].attempts:
            self.effects[key] = replace(self.effects[key], cancelled=True)
        else:
            super().withdraw(key)

    def an_instance_ends(self) -> None:
        if self.alive:
            code = self.random.choice([0, 1, 1, 1, 1])
            self._ends(self.random.choice(sorted(self.alive)), code=code, ran_seconds=self.random.choice([2.0, 700.0]))

    def _ends(self, instance: str, **how: Any) -> None:
        """The news travels while its node is in reach; else it is told at the node's return."""
        node = self.alive.pop(instance)
        known = instance in self.instances or instance in self.allocations
        if self.nodes[node].connected and known:
            self.told("exited", instance, **how)

    def _become_ready(self) -> None:
        for instance, row in list(self.instances.items()):
            if instance in self.alive and self.nodes[row.node].connected and row.state == "running":
                self.told("ready", instance)

    def _some_node(self) -> str:
        return self.random.choice(sorted(self.nodes))

    def a_node_is_cut_off(self) -> None:
        self._cut(self._some_node())

    def a_machine_dies(self) -> None:
        name = self._some_node()
        self.alive = {instance: node for instance, node in self.alive.items() if node != name}
        self._cut(name)

    def _cut(self, name: str) -> None:
        """For a moment, until silent, or until lost; by then a fence has ended what must never live twice."""
        self.state(name, connected=False, heard_at=self.now)
        how_long = self.random.choice(["moment", "silent", "lost", "lost", "given up"])
        self.a_pass()
        if how_long == "moment":
            return
        self.after(15).state(name, silent=True, silent_since=self.now)
        self.a_pass()
        if how_long == "silent":
            return
        self._fence(name)
        if how_long == "given up":
            self.alive = {instance: node for instance, node in self.alive.items() if node != name}
        self.after(45).state(name, lost=True, given_up=how_long == "given up")

    def _fence(self, name: str) -> None:
        """What was started under `stop` ends by itself, whatever the rule is now."""
        for instance in [i for i, node in self.alive.items() if node == name]:
            if fenced(self.effects[ids.read(instance).start_key]):
                del self.alive[instance]

    def a_node_comes_back(self) -> None:
        """What its agent does not name has ended; what was replaced meanwhile is ended by the agent itself."""
        away = [name for name, state in self.nodes.items() if not state.connected]
        if not away:
            return
        name = self.random.choice(sorted(away))
        self.state(name, connected=True, silent=False, lost=False, given_up=False)
        for instance, row in list(self.instances.items()):
            if row.node == name and row.alive and instance not in self.alive:
                self.told("exited", instance)
        for instance in [i for i, node in self.alive.items() if node == name]:
            known = instance in self.instances or instance in self.allocations
            current = self.job.status.instance_id
            if known:
                self.told("running", instance)
            if not known or (current is not None and current != instance):
                self._ends(instance, signal=15)

    def a_loss_and_a_return(self) -> None:
        """The instance that was given up is still there when its node is back."""
        self.goes_well()
        if self.alive:
            name = self.alive[self.random.choice(sorted(self.alive))]
            self.state(name, connected=False, silent=True, silent_since=self.now, lost=True, heard_at=self.now)
            self._fence(name)
            self.goes_well()
            self.an_instance_ends()
            self.a_pass()
            self.a_node_comes_back()
            self.goes_well()

    def the_spec_changes(self) -> None:
        change = self.random.choice(CHANGES)
        differs = any(self.job.document.get(key) != value for key, value in change.items())
        if differs and not self.job.deleting:
            self.spec(**change)

    def the_bundle_forgives(self) -> None:
        if not self.job.deleting:
            self.spec(historyGeneration=self.job.spec.history_generation + 1)

    def it_is_deleted(self) -> None:
        if self.random.random() < 0.2:
            self.job = replace(self.job, deletion_timestamp=self.job.deletion_timestamp or self.now)


EVENTS: tuple[Callable[[World], None], ...] = (
    *[World.a_pass] * 4,
    *[World.goes_well] * 5,
    *[World.time_passes] * 3,
    *[World.an_instance_ends] * 4,
    *[World.an_effect_is_tried] * 2,
    *[World.a_node_comes_back] * 2,
    World.comes_to_rest,
    World.a_node_is_cut_off,
    World.a_machine_dies,
    World.a_loss_and_a_return,
    World.the_spec_changes,
    World.the_bundle_forgives,
    World.it_is_deleted,
)
plays = st.lists(st.sampled_from(EVENTS), min_size=20, max_size=120)


def play(seed: int, events: list[Callable[[World], None]]) -> World:
    world = World(Random(seed))
    for event in events:
        event(world)
    return world


@pytest.mark.req("F135", "F136", "F148")
@settings(max_examples=share(250), deadline=None)
@given(seed=st.integers(0, 2**32), events=plays)
def test_whatever_happens_the_laws_hold_and_passes_come_to_rest(
    seed: int, events: list[Callable[[World], None]]
) -> None:
    world = play(seed, events)
    world.comes_to_rest()
    if world.gone:
        assert world.allocations == {}


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), events=plays)
def test_once_all_is_well_the_job_runs_or_says_why_it_never_will(
    seed: int, events: list[Callable[[World], None]]
) -> None:
    world = play(seed, events)
    for _ in range(len(world.nodes)):
        world.a_node_comes_back()
    for _ in range(6):
        world.after(60)
        world.goes_well()
    status, ready = world.job.status, world.condition("Ready")
    if world.job.deleting:
        assert (world.gone, world.alive) == (True, {})
        return
    assert ready is not None
    living = [world.instance_id] if ready.reason == "Running" else []
    assert sorted(world.alive) == living
    assert sorted(world.allocations) == living
    resting = {"completed", "dormant"} | ({"dropped"} if status.terminal else set())
    broken = world.job.spec.placing_stopped and ready.reason == "Broken"
    assert status.phase == "running" or status.phase in resting or broken, f"{status.phase}: {ready}"


def test_the_plays_reach_every_state() -> None:
    """A law over states that never come is no law."""
    seen: set[str] = set()
    for seed in range(150):
        random = Random(seed)
        seen |= play(seed, [random.choice(EVENTS) for _ in range(100)]).seen
    assert {
        "backoff CrashLooping", "backoff Recovering", "backoff Starting", "completed Completed", "dormant Dormant",
        "dropped Dropped", "pending Broken", "pending NoFit", "running NodeSilent", "running Running",
        "starting EffectUnknown", "starting Starting", "stopping Deleting", "stopping NodeSilent", "stopping Stopping",
    } <= seen  # fmt: skip
