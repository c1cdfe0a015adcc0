"""Turns: a kind whose passes hang leaves runners to the others, and one that never settles is paced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from controllers.definitions.turns import AT_ONCE_IN_A_ROW, LONG_SECONDS, Turns
from resources.reference import Ref
from rmctl import Result, Spec, condition_true, resource_manager
from rmctl.testing import Clock, Trial
from store import queue
from store.queue import Claim
from store.store import Store

WORKERS = 4


class Line:
    """Keys of definitions that are due, and the turns that are taken at them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store.in_memory(self.clock)
        self.turns = Turns(WORKERS, lambda _: 1.0, self.clock.monotonic)
        self.ready: list[Claim] = []

    def due(self, kind: str, count: int) -> None:
        for number in range(count):
            self.clock.advance(1)
            self.store.write(lambda tx, number=number: queue.enqueue(tx, Ref(kind, f"{kind}-{number}", "default")))

    def take(self, limit: int = WORKERS) -> list[str]:
        claim = partial(queue.claim, token=self.clock.token, backoff=lambda _: 1.0, lane=queue.DEFINED)
        taken = self.store.write(lambda tx: self.turns.take(tx, limit, self.ready, claim))
        self.ready += taken
        return [one.ref.kind for one in taken]

    def begun(self) -> ExitStack:
        """What was taken is at work until the stack is closed."""
        stack = ExitStack()
        for one in self.ready:
            stack.enter_context(self.turns.at_work(one))
        self.ready = []
        return stack

    def next_due(self) -> float | None:
        with self.store.read() as tx:
            return self.turns.next_due(tx, self.ready)


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.store.close()


@pytest.mark.req("T27")
def test_one_kind_leaves_a_runner_to_the_others(line: Line) -> None:
    line.due("busy", 6)
    line.due("good", 1)
    assert line.take() == ["busy", "busy", "busy", "good"]
    assert line.take() == []
    assert line.next_due() is None


@pytest.mark.req("T27")
def test_keys_that_miss_their_deadline_share_half_of_the_runners(line: Line) -> None:
    """Their kinds' other keys wait for nobody, and come back as often as they like."""
    for kind in ("a", "b"):
        line.due(kind, 2)
        for number in range(2):
            line.turns.missed(Ref(kind, f"{kind}-{number}", "default"))
    line.due("good", 2)
    line.store.write(lambda tx: queue.enqueue(tx, Ref("b", "b-well", "default")))
    line.turns.came_back(Ref("b", "b-well", "default"))
    assert line.take() == ["a", "a", "good", "good"]
    assert line.next_due() is not None
    line.ready = line.ready[:2]
    assert line.take(2) == ["b"]
    line.turns.came_back(Ref("b", "b-1", "default"))
    assert line.take(2) == ["b"]
    assert [one.ref.name for one in line.ready] == ["a-0", "a-1", "b-well", "b-1"]


@pytest.mark.req("T27")
def test_kinds_in_a_long_pass_leave_as_many_runners_to_the_others(line: Line) -> None:
    line.due("a", 6)
    line.due("b", 6)
    assert line.take() == ["a", "a", "a", "b"]
    with line.begun():
        assert line.turns.long() == ()
        line.clock.advance(LONG_SECONDS)
        assert [ref.kind for ref in line.turns.long()] == ["a", "a", "a", "b"]
        line.due("good", 2)
        assert line.take() == ["good", "good"]
        assert line.next_due() is None


def test_what_is_at_work_counts_as_what_is_ready_does(line: Line) -> None:
    line.due("busy", 5)
    assert line.take(2) == ["busy", "busy"]
    one, two = line.ready
    line.ready = []
    with line.turns.at_work(one), line.turns.at_work(two):
        assert line.take() == ["busy"]
    line.ready = []
    assert line.take() == ["busy", "busy"]


def spinning(made: list[str], settles_after: int) -> Any:
    class SpinSpec(Spec):
        size: int = 1

    @resource_manager("spin", spec=SpinSpec)
    def reconcile(ctx: Any, _resource: Any) -> Result:
        made.append("pass")
        if len(made) > settles_after:
            return ctx.settled(conditions=[condition_true("Ready", "Fine")])
        return ctx.requeue()

    return reconcile


@pytest.mark.req("T22", "T55")
def test_a_key_that_never_settles_is_paced_and_says_so_once() -> None:
    made: list[str] = []
    with Trial(spinning(made, settles_after=10_000)) as trial:
        trial.apply("s", {})
        assert trial.run() == AT_ONCE_IN_A_ROW + 1
        assert trial.run_for(600) < 30
        told = [one for one in trial.events("s") if one.startswith("ReconcileSpinning: ")]
        assert len(told) == 1
        assert "does it ever settle" in told[0]


def test_a_key_that_settles_in_the_end_is_not_paced_the_next_time() -> None:
    made: list[str] = []
    with Trial(spinning(made, settles_after=AT_ONCE_IN_A_ROW - 1)) as trial:
        trial.apply("s", {})
        assert trial.run() == AT_ONCE_IN_A_ROW
        made.clear()
        trial.wake("s")
        assert trial.run() == AT_ONCE_IN_A_ROW
        assert not [one for one in trial.events("s") if "Spinning" in one]


@pytest.mark.req("T39")
def test_an_effect_whose_key_changes_with_every_pass_is_found_out() -> None:
    class SpinSpec(Spec):
        size: int = 1

    deeds: list[str] = []

    @resource_manager("spin", spec=SpinSpec)
    def reconcile(ctx: Any, _resource: Any) -> Result:
        key = f"deed:{len(deeds)}"
        ctx.effects.ensure(key=key, kind="do", request={}, observe=lambda: None, apply=lambda: deeds.append(key))
        return ctx.settled(conditions=[condition_true("Ready", "Fine")])

    with Trial(reconcile) as trial:
        trial.apply("s", {})
        trial.run_for(600)
        assert len(deeds) < AT_ONCE_IN_A_ROW + 30
        assert [one for one in trial.events("s") if "does an effect's key stay the same?" in one]
