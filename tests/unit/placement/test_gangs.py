"""Gangs: all or none, in one domain if they can be, on a view of their own."""

from __future__ import annotations

import pytest

from placement import Amounts
from placement.gang import FABRIC, gang
from placement.preempting import victims
from tests.placement_cards import a_gpu_node, gpus
from tests.placement_worlds import ONE_TIER, a_claim, a_fleet, a_node, a_request


def fabric(name: str, domain: str | None, count: int = 8):
    return a_gpu_node(name, count, labels={FABRIC: domain} if domain else {})


def placed(fleet, size, *asks, **fields):
    found = gang(a_request(devices=asks, **fields), fleet, ONE_TIER, size=size)
    return [member.node for member in found.members] or found.reason, found.domain


def test_all_members_are_in_one_domain_if_one_holds_them() -> None:
    fleet = a_fleet(fabric("a", "x"), fabric("b", "y"), fabric("c", "y"), fabric("d", None))
    assert placed(fleet, 2, gpus(8)) == (["b", "c"], "y")


def test_of_several_domains_the_best_by_key_is_taken_then_the_first_by_name() -> None:
    nodes = [fabric(name, domain) for name, domain in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"))]
    assert placed(a_fleet(*nodes), 2, gpus(6)) == (["a", "b"], "x")
    fuller = a_fleet(*nodes, claims=[a_claim("d", devices=(("gpu-00", 1000),))])
    assert placed(fuller, 2, gpus(6)) == (["d", "c"], "y")


def test_without_such_a_domain_they_stay_as_near_as_it_goes() -> None:
    fleet = a_fleet(fabric("a", "x"), fabric("b", "y"), fabric("c", "x"))
    assert placed(fleet, 3, gpus(8)) == (["a", "c", "b"], None)


@pytest.mark.req("P133")
def test_one_that_has_no_place_leaves_none_with_one() -> None:
    fleet = a_fleet(fabric("a", "x"), fabric("b", "x"))
    said = "2 of 3 members have a place; for the next: no node fits (2 nodes): 2 × fits: 0 of 8 gpu free"
    assert placed(fleet, 3, gpus(8)) == (said, None)


def test_members_may_share_a_node_and_never_an_atom() -> None:
    fleet = a_fleet(fabric("a", "x"))
    found = gang(a_request(devices=(gpus(3),)), fleet, ONE_TIER, size=2)
    taken = [atom.id for member in found.members for atom in member.devices]
    assert (len(taken), len(set(taken))) == (6, 6)


@pytest.mark.req("P19")
def test_the_view_that_was_asked_is_as_it_was() -> None:
    fleet = a_fleet(fabric("a", "x"), fabric("b", "x"))
    revision = fleet.revision
    placed(fleet, 2, gpus(8))
    assert (fleet.revision, fleet) == (revision, a_fleet(fabric("a", "x"), fabric("b", "x")))


def test_each_lease_takes_a_node_of_its_own() -> None:
    fleet = a_fleet(a_node("a"), a_node("b"))
    assert placed(fleet, 2, lease=True, exclusive=True, ask=Amounts())[0] == ["a", "b"]
    assert "exclusive: held by" in placed(fleet, 3, lease=True, exclusive=True, ask=Amounts())[0]


@pytest.mark.req("P143")
def test_only_those_in_the_way_would_have_to_go_and_the_first_given_are_spared() -> None:
    claims = [a_claim("a", f"s/primary/{n}", devices=((f"gpu-0{n}", 1000),), allocation=f"s{n}") for n in range(4)]
    fleet = a_fleet(fabric("a", None, 4), claims=claims)
    request = a_request(devices=(gpus(2),))
    assert victims(request, fleet, ONE_TIER, ["s0", "s1", "s2", "gone"]) == ("s1", "s2")
    assert victims(a_request(devices=(gpus(5),)), fleet, ONE_TIER, ["s0", "s1", "s2", "s3"]) is None
