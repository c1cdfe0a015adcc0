"""Golden traces: whole plans as people read them."""

from dataclasses import replace

import pytest

from placement import Forbid, PoolPolicy, Shape, Spare, TierPolicy, plan
from placement.explain import summary, trace, tree, would_fit
from tests.placement_worlds import a_claim, a_fleet, a_node, a_request, vcpu

FLEET = a_fleet(
    a_node("node-a", zone="zone-a"),
    a_node("node-b", zone="zone-b"),
    a_node("node-c", zone="zone-c", labels={"rmctl/cap.nvenc": "1"}),
    claims=[
        a_claim("node-a", "hello/primary/web", 0.5, ports=("8101/tcp",)),
        a_claim("node-b", "channel/primary/encode", 1),
        a_claim("node-b", "channel/primary/origin", 0.5, ports=("8201/tcp",)),
        a_claim("node-c", "channel/backup/encode", 1),
        a_claim("node-c", "channel/backup/origin", 0.5, ports=("8201/tcp",)),
    ],
)
SPREAD = PoolPolicy(tiers=(TierPolicy(name="local", packing="spread"),))

M5 = Shape("m5.xlarge", vcpu(4, 4, 16384))
RESERVED = TierPolicy(name="reserved", kind="aws", elastic=True, shapes=(M5,), max_nodes=2)
ON_DEMAND = TierPolicy(name="on-demand", kind="aws", elastic=True, shapes=(M5,))
CLOUD = PoolPolicy(tiers=(RESERVED, ON_DEMAND), provisioning=True)
CLOUD_FLEET = a_fleet(
    a_node("reserved-1b2c", tier="reserved", cloud="aws", no_schedule=("cordoned",)),
    a_node("reserved-4d90", tier="reserved", cloud="aws"),
    a_node("on-demand-2c19", tier="on-demand", cloud="aws"),
    claims=[
        a_claim("reserved-1b2c", "music/primary/encode", 2),
        a_claim("reserved-4d90", "news/primary/encode", 3, ports=("1935/tcp",)),
        a_claim("on-demand-2c19", "films/primary/encode", 4),
    ],
)
SPARES = a_fleet(
    a_node("node-1", images=frozenset({"encoder:1"}), spare=Spare(("encode",))),
    a_node("node-2"),
    a_node("node-3", booted=False),
    a_node("node-4", images=frozenset({"encoder:1"}), spare=Spare(("report",), exclusive=True)),
)
NVENC = {"rmctl/cap.nvenc": "*"}
CHANNEL_BACKUP = Forbid(frozenset({"node-b"}), frozenset({"zone-b"}))

CASES = {
    "ultra-hd": (a_request("ultra-hd/primary/encode", 6, labels=NVENC), FLEET, SPREAD),
    "hello-again": (a_request("hello2/primary/web", 0.5, ports=("8101/tcp",)), FLEET, SPREAD),
    "backup-moves": (
        a_request(
            "channel/backup/encode",
            1,
            room=vcpu(1.5),
            forbid=CHANNEL_BACKUP,
            excluded={"node-c": "migrating from this node"},
        ),
        FLEET,
        SPREAD,
    ),
    "follower": (a_request("channel/primary/extra", 4, together=["channel/primary/encode"]), FLEET, SPREAD),
    "spares": (
        a_request("ch/primary/encode", 1, template="encode", spare="avoid", images=frozenset({"encoder:1"})),
        SPARES,
        PoolPolicy(tiers=(TierPolicy(name="local"),)),
    ),
    "sports": (a_request("sports/primary/encode", 6), CLOUD_FLEET, CLOUD),
    "sports-smaller": (a_request("sports/primary/encode", 2), CLOUD_FLEET, CLOUD),
    "no-provisioning": (a_request("sports/primary/encode", 2), CLOUD_FLEET, replace(CLOUD, provisioning=False)),
    "stays-in-its-tier": (a_request("weather/primary/encode", 1), CLOUD_FLEET, CLOUD),
    "no-nodes": (a_request(), a_fleet(), SPREAD),
}


@pytest.mark.req("F153")
@pytest.mark.parametrize("name", CASES)
def test_a_plan_reads_like_this(name, golden):
    request, fleet, policy = CASES[name]
    text = tree(trace(request, fleet, policy))
    if found := would_fit(request, fleet, policy):
        text += "Would fit if\n"
        text += "".join(f"  {at}. {each.text}\n" for at, each in enumerate(found, 1))
        text += "".join(f"     {each.command}\n" for each in found if each.command)
    golden(f"placement/{name}.txt", text)


def test_an_event_keeps_the_outcome_the_counts_and_the_first_ten():
    fleet = a_fleet(*(a_node(f"n{number:02}") for number in range(12)), a_node("full", 0.5))
    kept = summary(plan(a_request(), fleet, SPREAD), SPREAD.ranking).to_dict()
    assert [entry["node"] for entry in kept.pop("ranked")] == [f"n{number:02}" for number in range(10)]
    assert kept == {
        "outcome": "placed",
        "sentence": "n00 of 13 nodes, tier local",
        "nodes": 13,
        "node": "n00",
        "tier": "local",
        "violated": [],
        "refused": {"fits: 0.5 of 1 vcpu free": 1},
    }
