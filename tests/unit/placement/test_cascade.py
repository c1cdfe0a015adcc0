"""Tiers in order: where a job goes, where a machine is started, and when the answer is no."""

from dataclasses import replace

import pytest

from placement import (
    Amounts,
    Forbid,
    Placed,
    PoolPolicy,
    Provision,
    Shape,
    TierPolicy,
    Unschedulable,
    capability_labels,
    plan,
)
from tests.placement_worlds import LOCAL, ONE_TIER, a_claim, a_fleet, a_node, a_request, vcpu

SMALL = Shape("m5.large", vcpu(2, 2, 8192))
LARGE = Shape("m5.xlarge", vcpu(4, 4, 16384))
NVENC = Shape("g4dn.xlarge", vcpu(4, 4, 16384), capability_labels(("nvenc",)))
RESERVED = TierPolicy(name="reserved", kind="aws", elastic=True, shapes=(SMALL, LARGE), max_nodes=2)
ON_DEMAND = TierPolicy(name="on-demand", kind="aws", elastic=True, shapes=(LARGE, NVENC))
CLOUD = PoolPolicy(tiers=(RESERVED, ON_DEMAND), provisioning=True)
MIXED = PoolPolicy(tiers=(LOCAL, ON_DEMAND), provisioning=True)
TWO_FIXED = PoolPolicy(tiers=(TierPolicy(name="near"), TierPolicy(name="far")))


def answer(request, fleet, policy=ONE_TIER):
    return plan(request, fleet, policy).answer


def in_tier(tier, *names, **fields):
    return [a_node(name, tier=tier, cloud="aws", **fields) for name in names]


@pytest.mark.req("F4", "F152")
def test_one_tier_is_enough():
    assert answer(a_request(), a_fleet(a_node("a"))) == Placed("a", "local")


@pytest.mark.req("F2", "F3")
def test_the_first_tier_that_can_place_is_taken_and_later_ones_are_not_looked_at():
    fleet = a_fleet(*in_tier("far", "a"), *in_tier("near", "b"))
    done = plan(a_request(), fleet, TWO_FIXED)
    assert done.answer == Placed("b", "near")
    assert [(tier.tier, tier.looked_at, tier.nodes, tier.kept) for tier in done.tiers] == [
        ("near", True, 1, 1),
        ("far", False, 1, 0),
    ]


@pytest.mark.req("F172")
def test_a_tier_without_room_leaves_it_to_the_next():
    fleet = a_fleet(*in_tier("near", "a", has=1), *in_tier("far", "b"))
    assert answer(a_request(ask=2), fleet, TWO_FIXED) == Placed("b", "far")


@pytest.mark.req("F173", "FA59")
def test_with_all_tiers_exhausted_there_is_no_capacity():
    fleet = a_fleet(*in_tier("near", "a", has=1), *in_tier("far", "b", has=1))
    assert answer(a_request(ask=2), fleet, TWO_FIXED) == Unschedulable(
        "no node fits (2 nodes): 2 × fits: 1 of 2 vcpu free", "noCapacityInAnyPool"
    )


@pytest.mark.req("F170")
@pytest.mark.parametrize(
    ("request_", "shape"),
    [
        (a_request(ask=1), SMALL),
        (a_request(ask=3), LARGE),
        (a_request(ask=vcpu(1, 4)), LARGE),
        (a_request(ask=1, room=vcpu(3)), LARGE),
    ],
)
def test_the_first_shape_that_fits_is_started(request_, shape):
    assert answer(request_, a_fleet(), CLOUD) == Provision("reserved", shape)


@pytest.mark.req("F170")
def test_a_shape_must_bring_what_the_labels_ask():
    assert answer(a_request(labels={"rmctl/cap.nvenc": "*"}), a_fleet(), CLOUD) == Provision("on-demand", NVENC)


@pytest.mark.req("F170")
def test_a_tier_at_its_cap_leaves_it_to_the_next():
    fleet = a_fleet(*in_tier("reserved", "a", has=1), *in_tier("reserved", "b", has=1, booted=False))
    done = plan(a_request(ask=2), fleet, CLOUD)
    assert (done.answer, done.tiers[0].no_machine) == (Provision("on-demand", LARGE), "at its cap, 2 of 2 nodes")


@pytest.mark.req("F171")
def test_a_pinned_request_starts_no_machine():
    done = plan(a_request(pin="x"), a_fleet(*in_tier("reserved", "a")), CLOUD)
    assert done.answer == Unschedulable("no node fits (1 nodes): 1 × pin: pinned to x")
    assert {tier.no_machine for tier in done.tiers} == {"pinned to x"}


@pytest.mark.req("F174")
def test_a_node_wins_over_a_new_machine_in_its_tier():
    assert answer(a_request(), a_fleet(*in_tier("reserved", "a")), CLOUD) == Placed("a", "reserved")


@pytest.mark.req("F175")
def test_a_new_machine_wins_over_a_node_of_a_later_tier():
    assert answer(a_request(), a_fleet(*in_tier("on-demand", "a")), CLOUD) == Provision("reserved", SMALL)


def test_without_anybody_to_start_machines_an_elastic_tier_says_so():
    policy = replace(CLOUD, provisioning=False)
    done = plan(a_request(), a_fleet(*in_tier("on-demand", "a")), policy)
    assert (done.answer, done.tiers[0].no_machine) == (Placed("a", "on-demand"), "not there yet")
    assert answer(a_request(), a_fleet(), policy) == Unschedulable("the pool has no nodes")


def test_why_no_machine_is_started():
    fleet = a_fleet(*in_tier("reserved", "a", "b"))
    done = plan(a_request(ask=6), fleet, CLOUD)
    assert [tier.no_machine for tier in done.tiers] == [
        "at its cap, 2 of 2 nodes; m5.large has 2 of 6 vcpu; m5.xlarge has 4 of 6 vcpu",
        "m5.xlarge has 4 of 6 vcpu; g4dn.xlarge has 4 of 6 vcpu",
    ]
    assert plan(a_request(ask=6), a_fleet(a_node("a")), ONE_TIER).tiers[0].no_machine == "fixed"


def test_a_follower_of_a_group_starts_no_machine():
    fleet = a_fleet(*in_tier("reserved", "a", has=1), claims=[a_claim("a", "ch/primary/origin")])
    done = plan(a_request(ask=1, together=["ch/primary/origin"]), fleet, CLOUD)
    assert done.answer == Unschedulable("no node fits (1 nodes): 1 × fits: 0 of 1 vcpu free")
    assert done.tiers[0].no_machine == "ch/primary/origin is on a"


def test_a_hard_zone_rule_chooses_where_a_machine_may_stand():
    tier = replace(ON_DEMAND, zones=("z1", "z2"))
    policy = PoolPolicy(tiers=(tier,), provisioning=True)
    fleet = a_fleet(*in_tier("on-demand", "a", has=1, zone="z2"), claims=[a_claim("a", "ch/primary/origin")])
    beside = a_request(same_zone="hard", peers=["ch/primary/origin"])
    assert answer(beside, fleet, policy) == Provision("on-demand", LARGE, ("z2",))
    elsewhere = PoolPolicy(tiers=(replace(tier, zones=("z1",)),), provisioning=True)
    assert plan(beside, fleet, elsewhere).tiers[0].no_machine == "no zone of it holds the job's peers"


def test_a_node_of_a_tier_that_the_pool_has_not_is_refused_by_name():
    assert answer(a_request(), a_fleet(a_node("a", tier="gold"))) == Unschedulable(
        "no node fits (1 nodes): 1 × tier: tier gold"
    )


FORBID_A = Forbid(nodes=frozenset({"a"}))


def a_backup(**fields):
    return a_request("ch/backup/encode", **fields)


@pytest.mark.req("F107", "F109", "FA1")
def test_a_forbid_filters_nothing():
    done = plan(a_backup(forbid=FORBID_A), a_fleet(a_node("a")), ONE_TIER)
    assert done.answer == Placed("a", "local", ("sameNode",))


@pytest.mark.req("F108", "FA1")
def test_a_compliant_node_of_a_later_tier_wins_over_a_broken_forbid():
    fleet = a_fleet(*in_tier("near", "a"), *in_tier("far", "b"))
    assert answer(a_backup(forbid=FORBID_A), fleet, TWO_FIXED) == Placed("b", "far")


@pytest.mark.req("F108", "FA1")
def test_a_new_machine_wins_over_a_broken_forbid():
    fleet = a_fleet(*in_tier("reserved", "a"))
    assert answer(a_backup(forbid=FORBID_A), fleet, CLOUD) == Provision("reserved", SMALL)


@pytest.mark.req("FA1")
def test_a_new_machine_in_the_forbidden_cloud_does_not():
    fleet = a_fleet(*in_tier("on-demand", "a"), a_node("b"))
    forbid = Forbid(clouds=frozenset({"aws"}))
    policy = replace(CLOUD, tiers=(*CLOUD.tiers, LOCAL))
    assert answer(a_backup(forbid=forbid), fleet, policy) == Placed("b", "local")
    assert answer(a_backup(forbid=forbid), a_fleet(), policy) == Provision("reserved", SMALL, (), ("sameCloud",))


@pytest.mark.req("FA1")
def test_a_new_machine_keeps_out_of_the_forbidden_zone_if_its_tier_has_another():
    forbid = Forbid(zones=frozenset({"z1"}))
    tier = replace(ON_DEMAND, zones=("z1", "z2", "z3"))
    assert answer(a_backup(forbid=forbid), a_fleet(), PoolPolicy(tiers=(tier,), provisioning=True)) == Provision(
        "on-demand", LARGE, ("z2", "z3")
    )
    narrow = PoolPolicy(tiers=(replace(tier, zones=("z1",)),), provisioning=True)
    assert answer(a_backup(forbid=forbid), a_fleet(), narrow) == Provision("on-demand", LARGE, ("z1",), ("sameAz",))


@pytest.mark.req("FA1", "F112")
def test_when_every_place_breaks_one_the_first_tier_gives_its_least_broken():
    forbid = Forbid(frozenset({"a"}), frozenset({"z"}), frozenset({"aws"}))
    fleet = a_fleet(*in_tier("near", "a", "b", zone="z"), *in_tier("far", "c"))
    assert answer(a_backup(forbid=forbid), fleet, TWO_FIXED) == Placed("b", "near", ("sameAz", "sameCloud"))


RECOVERING = {"excluded": {"a": "recovering from this node"}}
FAILED_PROCESS = {**RECOVERING, "second_chance": frozenset({"a"})}


@pytest.mark.req("FA15")
def test_the_old_node_is_excluded_as_long_as_another_fits():
    assert answer(a_request(**FAILED_PROCESS), a_fleet(a_node("a"), a_node("b"))) == Placed("b", "local")


@pytest.mark.req("FA15")
def test_where_the_process_failed_the_old_node_is_asked_once_more():
    done = plan(a_request(**FAILED_PROCESS), a_fleet(a_node("a"), a_node("b", has=0.5)), ONE_TIER)
    assert done.answer == Placed("a", "local")
    assert [entry.node for entry in done.ranked] == ["a"]
    assert [rejection.node for rejection in done.rejections] == ["b"]


@pytest.mark.req("FA15")
def test_it_is_asked_before_a_machine_is_started():
    fleet = a_fleet(a_node("a"))
    assert answer(a_request(**FAILED_PROCESS), fleet, MIXED) == Placed("a", "local")
    assert answer(a_request(**RECOVERING), fleet, MIXED) == Provision("on-demand", LARGE)


@pytest.mark.req("FA15")
def test_but_not_before_a_node_of_a_later_tier():
    fleet = a_fleet(*in_tier("near", "a"), *in_tier("far", "b"))
    assert answer(a_request(**FAILED_PROCESS), fleet, TWO_FIXED) == Placed("b", "far")


def test_what_is_wrong_with_the_old_node_is_told_in_the_end():
    assert answer(a_request(ask=9, **FAILED_PROCESS), a_fleet(a_node("a"))) == Unschedulable(
        "no node fits (1 nodes): 1 × fits: 4 of 9 vcpu free"
    )


def test_several_jobs_are_placed_one_after_the_other_on_a_copy():
    fleet = a_fleet(a_node("a", has=2), a_node("b", has=2))
    scratch, answers = fleet.copy(), []
    for number in range(3):
        found = answer(a_request(f"ch/primary/j{number}", ask=2), scratch)
        answers.append(found)
        if isinstance(found, Placed):
            scratch.put_claim(a_claim(found.node, f"ch/primary/j{number}", 2))
    assert [getattr(found, "node", None) for found in answers] == ["a", "b", None]
    assert fleet == a_fleet(a_node("a", has=2), a_node("b", has=2))


@pytest.mark.req("F83")
def test_a_group_follows_its_first_mover_whose_node_has_room_for_all():
    fleet = a_fleet(a_node("a", has=2), a_node("b", has=4))
    together = {"together": ["ch/primary/encode", "ch/primary/origin"]}
    first = answer(a_request("ch/primary/encode", 1, room=vcpu(3), **together), fleet)
    fleet.put_claim(a_claim(first.node, "ch/primary/encode", 1))
    assert (first, answer(a_request("ch/primary/origin", 2, **together), fleet)) == (
        Placed("b", "local"),
        Placed("b", "local"),
    )


@pytest.mark.req("F152", "P19")
def test_planning_changes_nothing():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a")])
    revision, twin = fleet.revision, fleet.copy()
    for _ in range(3):
        plan(a_request(ask=4), fleet, CLOUD)
    assert (fleet, fleet.revision) == (twin, revision)


def test_an_archived_pool_places_nothing():
    done = plan(a_request(), a_fleet(a_node("a")), PoolPolicy(tiers=(LOCAL,), archived=True))
    assert done.answer == Unschedulable("the pool is archived")


def test_a_shape_that_was_never_measured_fits_only_what_it_names():
    policy = PoolPolicy(tiers=(replace(ON_DEMAND, shapes=(Shape("odd", Amounts(4000)),)),), provisioning=True)
    done = plan(a_request(ask=vcpu(1, 0, 64)), a_fleet(), policy)
    assert done.tiers[0].no_machine == "odd has 0 of 64 memory"
