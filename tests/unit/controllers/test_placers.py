"""Both placers: their three answers, the order of the line, and what a batch leaves to others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.placers.contract import Context, Pending, Placed, Queued
from controllers.placers.inline import Inline
from controllers.placers.pool_lease import PoolLease
from controllers.placers.registry import PLACERS
from controllers.placing import policy_of
from controllers.scheduling import Scheduling
from placement import FleetView
from resources.pool import PoolSpec
from resources.reference import Ref
from resources.reservation import Reservation
from tests.builders import a_pool
from tests.unit.controllers.test_reservation_controller import a_node, a_reservation

POLICY = policy_of(PoolSpec.model_validate(a_pool()))


def one(name: str, **spec) -> Reservation:
    made = a_reservation(**{"devices": [{"class": "gpu", "count": 1}], **spec})
    return replace(made, ref=Ref("reservation", name, "default"), uid=name)


def context(*nodes, line=(), excluded=None, leader=None, **scheduling) -> Context:
    fleet = FleetView()
    for node in nodes:
        fleet.put_node(node)
    return Context(fleet, POLICY, 1000.0, 7, excluded or {}, line, Scheduling(**scheduling), leader)


@pytest.mark.req("P11")
def test_the_placer_is_inline_unless_told_otherwise() -> None:
    assert Scheduling().placer == "inline"
    assert {name: placer.id for name, placer in PLACERS.items()} == {"inline": "inline", "pool-lease": "pool-lease"}


@pytest.mark.req("P1", "P3")
def test_the_inline_placer_places_or_says_why_not_and_queues_nobody() -> None:
    line = [one("older"), one("me")]
    placed = Inline().place(one("me"), context(a_node("a"), line=line))
    assert isinstance(placed, Placed)
    assert [claim.allocation for claim in placed.claims] == list(placed.allocations)
    assert Inline().place(one("me"), context(line=line)) == Pending("the pool has no nodes")


@pytest.mark.req("P3", "P14")
def test_who_looks_while_an_older_one_is_at_work_on_the_line_is_queued_behind_it() -> None:
    older = Ref("reservation", "older", "default")
    assert PoolLease().place(one("me"), context(a_node("a"), line=[one("me")], leader=older)) == Queued(older)
    assert isinstance(PoolLease().place(one("me"), context(a_node("a"), line=[one("me")])), Placed)


@pytest.mark.req("P14")
def test_the_first_looks_after_the_line_the_oldest_first() -> None:
    line = [one(name) for name in ("first", "second", "third")]
    answer = PoolLease().place(line[0], context(a_node("a", count=2), line=line))
    assert isinstance(answer, Placed)
    assert [(claim.allocation.uid, claim.allocation.devices[0].device) for claim in answer.claims] == [
        ("first", "gpu-00"),
        ("second", "gpu-01"),
    ]
    assert [ref.name for ref in answer.wake] == ["second"]


def test_one_that_has_no_place_holds_nobody_up() -> None:
    line = [one("big", devices=[{"class": "gpu", "count": 9}]), one("small")]
    answer = PoolLease().place(line[0], context(a_node("a"), line=line))
    assert isinstance(answer, Pending)
    assert (answer.reason, [claim.allocation.uid for claim in answer.claims]) == (
        "no node fits (1 nodes): 1 × fits: 8 of 9 gpu free",
        ["small"],
    )


@pytest.mark.req("P15", "P12")
def test_a_batch_takes_at_most_so_many_and_wakes_the_next() -> None:
    line = [one(f"r{number:02}") for number in range(65)]
    nodes = [a_node(f"n{number}") for number in range(9)]
    answer = PoolLease().place(line[0], context(*nodes, line=line))
    assert isinstance(answer, Placed)
    assert (len(answer.claims), answer.wake[-1].name) == (64, "r64")
    fewer = PoolLease().place(line[0], context(*nodes, line=line, max_batch=2))
    assert isinstance(fewer, Placed)
    assert ([claim.allocation.uid for claim in fewer.claims], fewer.wake[-1].name) == (["r00", "r01"], "r02")


@pytest.mark.parametrize("most", [1, 2, 64])
def test_whoever_stands_behind_some_without_a_place_gets_its_own(most: int) -> None:
    line = [one(f"big{at}", devices=[{"class": "gpu", "count": 9}]) for at in range(3)] + [one("small")]
    answer = PoolLease().place(line[3], context(a_node("a"), line=line, max_batch=most))
    assert isinstance(answer, Placed)
    assert [claim.allocation.uid for claim in answer.claims] == ["small"]
    nobody = PoolLease().place(line[2], context(a_node("a", count=0), line=line, max_batch=most))
    assert isinstance(nobody, Pending)
    assert (nobody.claims, nobody.wake) == ((), ()), "who wakes others without a place for them wakes them for ever"


def test_the_oldest_takes_its_room_first_whoever_looks() -> None:
    line = [one("old"), one("new")]
    answer = PoolLease().place(line[1], context(a_node("a", count=1), line=line))
    assert isinstance(answer, Pending)
    assert [claim.allocation.uid for claim in answer.claims] == ["old"]


@pytest.mark.req("P17")
def test_a_node_that_was_lost_to_others_is_left_out() -> None:
    lost = {"a": "an atom on a was booked concurrently"}
    answer = PoolLease().place(one("me"), context(a_node("a"), a_node("b"), excluded=lost))
    assert isinstance(answer, Placed)
    assert answer.allocations[0].node == "b"


@pytest.mark.req("P18")
def test_a_gang_is_placed_inline_by_either() -> None:
    member = one("me", gang={"size": 2})
    answer = PoolLease().place(member, context(a_node("a"), line=[one("older"), member]))
    assert isinstance(answer, Placed)
    assert len(answer.allocations) == 2


@pytest.mark.parametrize(
    "placer",
    [
        pytest.param("pool-lease", marks=pytest.mark.req("P44")),
        pytest.param("inline", marks=pytest.mark.req("P45")),
    ],
)
def test_in_an_archived_pool_a_reservation_waits_and_says_so(placer: str) -> None:
    archived = replace(context(a_node("a"), line=[one("me")]), policy=replace(POLICY, archived=True))
    assert PLACERS[placer].place(one("me"), archived) == Pending("the pool is archived")


@pytest.mark.req("P9", "P10")
def test_the_same_context_gives_the_same_answer() -> None:
    line = [one(name) for name in ("first", "second")]
    for placer in PLACERS.values():
        nodes = [a_node(name) for name in "abc"]
        assert placer.place(line[0], context(*nodes, line=line)) == placer.place(line[0], context(*nodes, line=line))
