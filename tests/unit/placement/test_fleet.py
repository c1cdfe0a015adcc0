"""The fleet view: writes in any order, one truth."""

import pytest

from placement import FleetView, claim_for, in_order
from tests.placement_worlds import a_claim, a_fleet, a_node, a_request, owner, vcpu


@pytest.mark.req("F203")
def test_free_is_capacity_less_claims():
    fleet = a_fleet(
        a_node("a", vcpu(4, 4, 100)), claims=[a_claim("a", ask=vcpu(1.5, 1)), a_claim("a", "x/y/z", vcpu(1, 0, 60))]
    )
    assert fleet.node("a").free == vcpu(1.5, 3, 40)


def test_a_claim_may_come_before_its_node_and_outlive_it():
    fleet = FleetView()
    fleet.put_claim(a_claim("a"))
    fleet.put_node(a_node("a"))
    fleet.remove_node("a")
    fleet.put_node(a_node("a"))
    assert fleet == a_fleet(a_node("a"), claims=[a_claim("a")])


def test_new_facts_of_a_node_leave_its_claims():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a")])
    fleet.put_node(a_node("a", has=8))
    assert fleet == a_fleet(a_node("a", has=8), claims=[a_claim("a")])


def test_an_allocation_stands_on_one_node():
    fleet = a_fleet(a_node("a"), a_node("b"), claims=[a_claim("a", allocation="1"), a_claim("b", allocation="1")])
    assert (fleet.node("a").claims, [*fleet.node("b").claims]) == ({}, ["1"])


def test_dropping_gives_everything_back():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a", allocation="1", ports=("80/tcp",), exclusive=True)])
    fleet.drop_claim("1")
    fleet.drop_claim("1")
    fleet.remove_node("nowhere")
    assert (fleet, fleet.nodes_of(owner("other/primary/job"))) == (a_fleet(a_node("a")), ())


def test_a_node_may_change_its_pool():
    fleet = a_fleet(a_node("a"), a_node("b"))
    fleet.put_node(a_node("a", pool="next"))
    assert [[node.name for node in fleet.pool(name)] for name in ("main", "next", "none")] == [["b"], ["a"], []]


def test_a_copy_goes_its_own_way():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a")])
    twin = fleet.copy()
    twin.put_claim(a_claim("a", "x/y/z"))
    twin.put_node(a_node("b"))
    twin.remove_node("a")
    assert fleet == a_fleet(a_node("a"), claims=[a_claim("a")])
    assert fleet.nodes_of(owner("x/y/z")) == ()


def test_every_write_moves_the_revision_and_that_of_its_pool_alone():
    fleet = a_fleet(a_node("a"), a_node("b", pool="next"))
    before = fleet.revision, fleet.pool_revision("main"), fleet.pool_revision("next"), fleet.pool_revision("none")
    fleet.put_claim(a_claim("b"))
    after = fleet.revision, fleet.pool_revision("main"), fleet.pool_revision("next")
    assert (before, after) == ((2, 1, 2, 0), (3, 1, 3))


@pytest.mark.req("F214")
def test_an_owner_on_the_move_is_on_two_nodes():
    fleet = a_fleet(a_node("a"), a_node("b"), claims=[a_claim("b"), a_claim("a")])
    assert fleet.nodes_of(owner("other/primary/job")) == ("a", "b")


def test_a_claim_takes_the_jobs_own_amounts_and_not_its_groups():
    request = a_request(ask=1, room=vcpu(3), ports=("80/tcp",), group_ports=("81/tcp",), exclusive=True)
    assert claim_for(request, "a", "1") == a_claim(
        "a", "ch/primary/encode", 1, allocation="1", ports=("80/tcp",), exclusive=True
    )


def test_reasons_are_told_in_one_order():
    reasons = ["odd", "dedicated=b", "cordoned", "not ready", "unhealthy", "terminating", "no inventory", "unreachable"]
    assert in_order([*reasons, "cordoned"]) == (*reversed(reasons[1:]), "odd")


def test_the_same_facts_again_are_no_write():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a")])
    fleet.put_node(a_node("a"))
    assert (fleet.revision, fleet.pool_revision("main")) == (2, 2)


def test_a_question_without_some_claims_leaves_the_view_as_it_was():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a", allocation="1"), a_claim("a", "x/y/z", allocation="2")])
    before = fleet.copy()
    with fleet.without(["1", "unknown"]) as view:
        assert view == a_fleet(a_node("a"), claims=[a_claim("a", "x/y/z", allocation="2")])
    assert fleet == before
