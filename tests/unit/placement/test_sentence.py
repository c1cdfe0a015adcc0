"""The sentence that people read when a job has no place."""

import pytest

from placement import plan
from placement.explain import after_lost_races, sentence
from tests.placement_worlds import ONE_TIER, a_claim, a_fleet, a_node, a_request


def said(request, fleet):
    return sentence(plan(request, fleet, ONE_TIER))


@pytest.mark.req("P131", "P133", "PA3")
def test_groups_most_common_first():
    fleet = a_fleet(a_node("a", 1), a_node("b", no_schedule=("cordoned",)), a_node("c", 1))
    assert said(a_request(ask=3), fleet) == "no node fits (3 nodes): 2 × fits: 1 of 3 vcpu free; 1 × cordoned"


@pytest.mark.req("PA19", "PD14")
def test_equal_groups_by_text():
    fleet = a_fleet(a_node("a", no_schedule=("unhealthy",)), a_node("b", no_schedule=("cordoned",)), a_node("c", 1))
    assert said(a_request(ask=3), fleet) == (
        "no node fits (3 nodes): 1 × cordoned; 1 × fits: 1 of 3 vcpu free; 1 × unhealthy"
    )


@pytest.mark.req("P132", "PA19")
def test_at_most_five_groups_and_the_header_counts_all_nodes():
    fleet = a_fleet(*(a_node(f"n{size}", size) for size in range(1, 8)))
    assert said(a_request(ask=9), fleet) == "no node fits (7 nodes): " + "; ".join(
        f"1 × fits: {size} of 9 vcpu free" for size in range(1, 6)
    )


@pytest.mark.req("PA20")
def test_one_node_is_spelled_like_many():
    assert said(a_request(ask=9), a_fleet(a_node("a"))) == "no node fits (1 nodes): 1 × fits: 4 of 9 vcpu free"


@pytest.mark.req("P134")
def test_a_pool_without_nodes():
    assert said(a_request(), a_fleet()) == "the pool has no nodes"


@pytest.mark.req("PA21", "PD13")
def test_a_node_that_lost_a_race_shows_with_its_reason():
    lost = a_request(excluded={"a": "vcpu on a ran out"})
    assert said(lost, a_fleet(a_node("a"))) == "no node fits (1 nodes): 1 × excluded: vcpu on a ran out"


def test_after_too_many_lost_races_the_last_reason_is_told():
    assert after_lost_races(3, "vcpu on a ran out") == "Unschedulable after 3 conflicting attempts: vcpu on a ran out"


def test_a_placed_job_says_where():
    fleet = a_fleet(a_node("a"), a_node("b"), claims=[a_claim("b")])
    assert said(a_request(), fleet) == "b of 2 nodes, tier local"
