"""What would help a refused job: the smallest changes, each tried."""

from dataclasses import replace

import pytest

from placement import PoolPolicy, Shape, Spare, TierPolicy, plan
from placement.explain import Suggestion, would_fit
from placement.newcomer import next_name
from tests.placement_cards import a_gpu_node, gpus
from tests.placement_worlds import LOCAL, ONE_TIER, POOL, a_claim, a_fleet, a_node, a_request, vcpu

EDIT = "rmctl edit bundle/ch"


def texts(request, fleet, policy=ONE_TIER):
    return [suggestion.text for suggestion in would_fit(request, fleet, policy)]


def test_a_job_that_has_a_place_needs_nothing():
    assert would_fit(a_request(), a_fleet(a_node("a")), ONE_TIER) == ()


def test_the_ultra_hd_example():
    """Six vcpu and an encoder, of which the fleet has neither at once."""
    fleet = a_fleet(
        a_node("node-a", pool="local"),
        a_node("node-b", pool="local"),
        a_node("node-c", pool="local", labels={"rmctl/cap.nvenc": "1"}),
        claims=[a_claim("node-c", ask=1.5)],
    )
    request = a_request("ultra-hd/primary/encode", 6, pool="local", labels={"rmctl/cap.nvenc": "*"})
    assert would_fit(request, fleet, ONE_TIER) == (
        Suggestion("the job asked for 2.5 vcpu: node-c", "rmctl edit bundle/ultra-hd"),
        Suggestion(
            "a node with 8 vcpu and nvenc joined pool local",
            "rmctl node join node-d --capacity 8 --capability nvenc --pool local",
        ),
    )


def test_a_cordoned_node_that_would_do():
    fleet = a_fleet(a_node("a", no_schedule=("cordoned",)), a_node("b", has=1))
    assert would_fit(a_request(ask=2), fleet, ONE_TIER)[0] == Suggestion("a was not cordoned", "rmctl uncordon a")


def test_a_node_that_is_cordoned_and_more_is_not_told():
    fleet = a_fleet(a_node("a", no_schedule=("not ready", "cordoned")))
    assert not any("cordoned" in text for text in texts(a_request(), fleet))


def test_the_largest_amounts_that_fit_anywhere():
    fleet = a_fleet(a_node("a", vcpu(3, 0, 64)), a_node("b", vcpu(2, 0, 512)))
    assert texts(a_request(ask=vcpu(4, 0, 512)), fleet)[0] == "the job asked for 3 vcpu and 64 memory: a"


def test_less_for_the_first_mover_is_less_for_its_group():
    request = a_request(ask=1, room=vcpu(6), together=["ch/primary/origin"])
    assert texts(request, a_fleet(a_node("a")))[0] == "its group asked for 4 vcpu: a"


def test_nothing_at_all_is_not_less():
    fleet = a_fleet(a_node("a", 1), claims=[a_claim("a", ask=1)])
    assert not any("asked for" in text for text in texts(a_request(ask=1), fleet))


def test_the_smallest_job_whose_going_makes_room():
    claims = [a_claim("a", "big/primary/x", 2), a_claim("a", "small/primary/x", 1)]
    assert texts(a_request(ask=2), a_fleet(a_node("a"), claims=claims))[1] == "small/primary/x left a"


def test_the_holder_of_a_port():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a", "hello/primary/web", ports=("8101/tcp",))])
    assert would_fit(a_request(ports=("8101/tcp",)), fleet, ONE_TIER) == (
        Suggestion("hello/primary/web left a (it holds 8101/tcp)"),
        Suggestion(f"a node with 1 vcpu joined pool {POOL}", f"rmctl node join a-1 --capacity 1 --pool {POOL}"),
        Suggestion("it did not ask for 8101/tcp: a", EDIT),
    )


@pytest.mark.parametrize(
    ("request_", "claim", "text"),
    [
        (a_request(exclusive=True), a_claim("a"), "it could share a node: a"),
        (
            a_request(separate=["ch/primary/x"]),
            a_claim("a", "ch/primary/x"),
            "it need not keep apart from ch/primary/x: a",
        ),
        (a_request(pin="b"), a_claim("a"), "it was not pinned to b: a"),
        (a_request(labels={"disk": "ssd"}), a_claim("a"), "it did not ask for disk=ssd: a"),
        (a_request(labels={"rmctl/cap.x": "*"}), a_claim("a"), "it did not ask for x: a"),
    ],
)
def test_a_rule_of_its_own_given_up(request_, claim, text):
    assert text in texts(request_, a_fleet(a_node("a"), claims=[claim]))


def test_a_hard_zone_made_soft():
    fleet = a_fleet(a_node("a"), a_node("b", 1), claims=[a_claim("b", "ch/primary/x")])
    assert "sameAz was soft: a" in texts(a_request(same_zone="hard", peers=["ch/primary/x"]), fleet)


def test_a_reserved_spare():
    fleet = a_fleet(a_node("a", spare=Spare(("vod",), exclusive=True)))
    assert "it could take a reserved spare: a" in texts(a_request(), fleet)


def test_a_newcomer_stands_in_the_zone_of_its_peers_and_has_the_labels():
    fleet = a_fleet(a_node("web-9", 1, zone="z"), claims=[a_claim("web-9", "ch/primary/x")])
    request = a_request(ask=3, same_zone="hard", peers=["ch/primary/x"], labels={"disk": "ssd"})
    suggestion = would_fit(request, fleet, ONE_TIER)[-1]
    assert suggestion == Suggestion(
        f"a node with 4 vcpu and disk=ssd in z joined pool {POOL}",
        f"rmctl node join web-10 --capacity 4 --label disk=ssd --zone z --pool {POOL}",
    )


def test_a_tier_that_may_grow():
    small = Shape("m5.xlarge", vcpu(4, 4, 1024))
    tier = TierPolicy(name="on-demand", kind="aws", elastic=True, shapes=(small,))
    policy = PoolPolicy(tiers=(tier,), provisioning=True)
    assert would_fit(a_request(ask=6), a_fleet(), policy) == (
        Suggestion("the job asked for 4 vcpu: a new m5.xlarge in on-demand", EDIT),
        Suggestion("tier on-demand offered 6 vcpu or more", f"rmctl edit pool/{POOL}"),
    )
    capped = replace(policy, tiers=(replace(tier, max_nodes=1),))
    full = a_fleet(a_node("a", 2, tier="on-demand"), claims=[a_claim("a", ask=2)])
    assert "tier on-demand could have 2 nodes" in texts(a_request(ask=2), full, capped)


def test_an_archived_pool_has_no_cure_here():
    assert would_fit(a_request(), a_fleet(a_node("a")), PoolPolicy(tiers=(LOCAL,), archived=True)) == ()


@pytest.mark.parametrize(
    ("names", "name"),
    [
        ([], "node-a"),
        (["node-a", "node-b"], "node-c"),
        (["node-z"], "node-z-1"),
        (["web-1", "web-2"], "web-3"),
        (["web-10", "web-9"], "web-11"),
        (["mybox"], "mybox-1"),
        (["n7"], "n8"),
    ],
)
def test_the_next_name(names, name):
    assert next_name(a_fleet(*(a_node(name) for name in names)), POOL) == name


def test_every_suggestion_leaves_the_fleet_alone():
    fleet = a_fleet(a_node("a", no_schedule=("cordoned",)), claims=[a_claim("a")])
    twin = fleet.copy()
    would_fit(a_request(ask=2), fleet, ONE_TIER)
    assert fleet == twin
    assert plan(a_request(ask=2), fleet, ONE_TIER) == plan(a_request(ask=2), twin, ONE_TIER)


def test_a_node_that_is_short_of_what_nobody_asks_for_is_still_a_place():
    fleet = a_fleet(a_node("a", vcpu(4, 0, 0)), claims=[a_claim("a", ask=vcpu(1, 0, 64))])
    assert texts(a_request(ask=4), fleet)[0] == "the job asked for 3 vcpu: a"


def test_fewer_devices_and_devices_apart_are_told_where_they_help():
    fleet = a_fleet(a_gpu_node("a", 4, links="PHB"))
    assert texts(a_request(devices=(gpus(6),)), fleet)[0] == "the job asked for 4 gpu: a"
    apart = texts(a_request(devices=(gpus(2, topology="nvlink-all"),)), fleet)
    assert apart == ["the job asked for 1 gpu: a", "its 2 gpu need not be joined by NVLink: a"]
    assert texts(a_request(devices=(gpus(2),)), a_fleet(a_node("a"))) == []


def test_a_condition_on_devices_that_nothing_meets_is_told():
    fleet = a_fleet(a_gpu_node("a", 4, gpuModel="H100", vramGiB="80"))
    told = texts(a_request(devices=(gpus(1, "gpumodel = H100, vramGiB >= 80"),)), fleet)
    assert told[0] == "it did not ask for gpumodel = H100: a"
    both = texts(a_request(devices=(gpus(1, "gpuModel = H200, vramGiB > 80"),)), fleet)
    assert both == ["it did not ask for gpuModel = H200, vramGiB > 80: a"]


def test_a_booking_that_is_in_the_way_is_named_as_one_with_its_begin():
    night = a_claim("a", "night", ask=1, reservation="r", start=200.0, end=300.0)
    request = a_request(ask=4, start=100.0)
    found = would_fit(request, a_fleet(a_node("a"), claims=[night]), ONE_TIER)
    told = "reservation night did not hold a from 1970-01-01T00:03:20Z on"
    assert Suggestion(told, "rmctl delete reservation/night") in found
    begun = a_fleet(a_node("a"), claims=[night._replace(start=50.0)])
    assert Suggestion("reservation night did not hold a", "rmctl delete reservation/night") in would_fit(
        request, begun, ONE_TIER
    )
