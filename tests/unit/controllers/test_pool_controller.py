"""A pool: what its nodes add up to, and what is short."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controllers.pool import PoolController, PoolView
from controllers.runtime.decision import Decision, Facts
from resources import conditions
from resources.allocation import Allocation
from resources.node import Amount, Node, NodePhase, NodeSpec, NodeStatus, Unhealthy
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reference import Ref
from tests.builders import a_pool

NOW = 1_000_000.0
CLOUD = {
    "name": "spot",
    "kind": "aws",
    "scaleOut": "elastic",
    "candidateInstanceTypes": [{"instanceType": "m5.xlarge", "totalCapacity": 4, "totalCores": 4}],
}


def a_node(name: str, cap: float = 4, phase: NodePhase = "running", **status: Any) -> Node:
    capacity = {"vcpu": Amount(total=4, cap=cap, reserved=0, free=cap)}
    stated = NodeStatus(phase=phase, capacity=capacity, **status)
    return Node(Ref("node", name), name, 1, 1, NodeSpec(pool="local"), stated)


def a_claim(milli: int) -> Allocation:
    return Allocation(str(milli), "u", Ref("job", "b.primary.j", "default"), "i", "local", "a", milli)


def decide(pool: Pool | None = None, **view: Any) -> tuple[Pool, Decision]:
    pool = pool or Pool(Ref("pool", "local"), "p", 1, 1, PoolSpec.model_validate(a_pool()), PoolStatus())
    decision = PoolController().decide(pool, PoolView(**view), Facts(now=NOW))
    status = decision.status
    assert isinstance(status, PoolStatus)
    return replace(pool, status=status), decision


def said(pool: Pool, type_: str = "Ready") -> tuple[str, str, str] | None:
    found = conditions.find(pool.status.conditions, type_)
    return None if found is None else (found.status, found.reason, found.message)


@pytest.mark.req("F343", "FA58")
def test_gauges_are_what_nodes_may_give_and_jobs_claim() -> None:
    pool, _ = decide(nodes=[a_node("a", 3), a_node("b", 1)], allocations=[a_claim(500), a_claim(1500)], waiting_jobs=1)
    status = pool.status
    assert (status.node_count, status.total_capacity, status.claimed_capacity) == (2, 4, 2)
    assert (status.used_capacity_fraction, status.waiting_jobs) == (0.5, 1)
    assert [(t.name, t.nodes, t.free_capacity) for t in status.tiers] == [("local", 2, 4)]
    assert said(pool) == ("True", "HasCapacity", "2 nodes, 2 of 4 vcpu claimed, 1 job waits")
    assert said(pool, "CapacityShort") == ("True", "NoFit", "1 job waits")


@pytest.mark.req("F30")
def test_a_node_that_names_no_tier_counts_to_the_fixed_one() -> None:
    tiers = [CLOUD, {"name": "racks", "kind": "local-servers", "scaleOut": "fixed"}]
    spec = PoolSpec.model_validate(a_pool(tiers=tiers))
    named = a_node("b")
    named = replace(named, spec=named.spec.model_copy(update={"tier": "spot"}))
    pool, _ = decide(Pool(Ref("pool", "local"), "p", 1, 1, spec, PoolStatus()), nodes=[a_node("a"), named])
    assert [(tier.name, tier.nodes) for tier in pool.status.tiers] == [("spot", 1), ("racks", 1)]


def test_a_pool_that_had_waiting_jobs_says_when_it_has_none() -> None:
    pool, _ = decide(nodes=[a_node("a")], waiting_jobs=2)
    assert said(pool, "CapacityShort") == ("True", "NoFit", "2 jobs wait")
    pool, _ = decide(pool, nodes=[a_node("a")])
    assert said(pool, "CapacityShort") == ("False", "HasCapacity", "no job waits")
    fresh, _ = decide(nodes=[a_node("a")])
    assert said(fresh, "CapacityShort") is None


def test_an_empty_pool_says_how_to_fill_it() -> None:
    pool, _ = decide()
    assert pool.status.used_capacity_fraction == 0
    assert said(pool) == ("False", "NoNodes", "has no nodes: rmctl node join NAME --pool local")


def test_a_tier_that_would_launch_machines_says_that_it_does_not_yet() -> None:
    spec = PoolSpec.model_validate(a_pool(tiers=[CLOUD]))
    pool, _ = decide(Pool(Ref("pool", "local"), "p", 1, 1, spec, PoolStatus()), waiting_jobs=1)
    later = "; tier spot has no machines yet: this version provisions none"
    assert said(pool, "CapacityShort") == ("True", "NoFit", f"1 job waits{later}")
    ready = said(pool)
    assert ready is not None
    assert ready[2].endswith(later)


def test_the_brake_is_a_condition_that_is_taken_back() -> None:
    silent = [a_node(name, phase="silent") for name in "abc"]
    well = [a_node(str(n)) for n in range(7)]
    pool, decision = decide(nodes=[*silent, *well])
    told = "3 of 10 nodes of pool local are silent: none is declared lost until fewer are"
    assert (said(pool, "RemediationHeld"), decision.requeue_after) == (("True", "MassLoss", told), 60)
    pool, decision = decide(pool, nodes=[*silent[:2], *well])
    assert said(pool, "RemediationHeld") == ("False", "NodesBack", "losses are acted on")
    assert decision.requeue_after is None


@pytest.mark.req("S14")
def test_many_unhealthy_nodes_raise_an_alarm() -> None:
    ill = Unhealthy(since=NOW, reason="Rejections", message="refused 3 starts")
    out = [a_node(name, unhealthy=ill) for name in "abcdef"]
    well = [a_node(str(number)) for number in range(4)]
    pool, _ = decide(nodes=[*out, *well])
    told = "6 of 10 nodes of pool local are unhealthy: look for what they share; none is replaced until fewer are"
    assert said(pool, "RemediationHeld") == ("True", "MassLoss", told)
    pool, _ = decide(pool, nodes=[*out[:2], *well, *well])
    assert said(pool, "RemediationHeld") == ("False", "NodesBack", "losses are acted on")


def test_nodes_lost_long_ago_or_given_up_hold_nothing() -> None:
    old = [a_node(name, phase="lost", lost_at=NOW - 601) for name in "ab"]
    given_up = [a_node("c", phase="lost", lost_at=NOW, given_up=True)]
    pool, _ = decide(nodes=[*old, *given_up, a_node("d", phase="silent")])
    assert said(pool, "RemediationHeld") is None
    fresh = [a_node(name, phase="lost", lost_at=NOW - 10) for name in "ab"]
    pool, _ = decide(nodes=[*fresh, a_node("d", phase="silent")])
    assert said(pool, "RemediationHeld") is not None


def test_deciding_on_its_own_status_changes_nothing() -> None:
    nodes = [a_node("a")]
    pool, first = decide(nodes=nodes, waiting_jobs=1)
    assert decide(pool, nodes=nodes, waiting_jobs=1)[1] == first


def test_a_criterion_that_nothing_brings_is_named() -> None:
    pool, _ = decide(nodes=[a_node("a")], strangers=("heat",))
    told = '1 node, 0 of 4 vcpu claimed; its ranking names "heat", which no plugin brings: passed over'
    assert said(pool) == ("True", "HasCapacity", told)
