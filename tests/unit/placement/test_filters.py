"""Each hard rule: what it keeps, what it says."""

import pytest

from placement import Amounts, InvalidRequest, NodeView, Request, Spare, plan
from placement.filters import FILTERS, Rejection, refusal, refusals
from placement.scene import scene_of
from tests.placement_worlds import LOCAL, ONE_TIER, a_claim, a_fleet, a_node, a_request, vcpu


def refused(request, *nodes, claims=()):
    """What is said of the first node."""
    fleet = a_fleet(*nodes, claims=claims)
    rejection = refusal(request, fleet.node(nodes[0].name), scene_of(request, fleet, LOCAL))
    return rejection and rejection.text


@pytest.mark.parametrize(
    ("request_", "node", "said"),
    [
        pytest.param(a_request(pin="b"), a_node("a"), "pin: pinned to b", marks=pytest.mark.req("F154")),
        pytest.param(a_request(pin="a"), a_node("a"), None, marks=pytest.mark.req("F154")),
        pytest.param(a_request(), a_node(pool="spare"), "pool: pool spare", marks=pytest.mark.req("F155")),
        pytest.param(a_request(), a_node(tier="gold"), "tier: tier gold", marks=pytest.mark.req("F156")),
        pytest.param(
            a_request(excluded={"a": "recovering from this node"}),
            a_node("a"),
            "excluded: recovering from this node",
            marks=pytest.mark.req("F157"),
        ),
        pytest.param(
            a_request(excluded={"a": "migrating from this node"}),
            a_node("a"),
            "excluded: migrating from this node",
            marks=pytest.mark.req("F157"),
        ),
        pytest.param(
            a_request(excluded={"b": "recovering from this node"}), a_node("a"), None, marks=pytest.mark.req("F157")
        ),
        pytest.param(
            a_request(), a_node(no_schedule=("unreachable",)), "unreachable", marks=pytest.mark.req("F158", "FA5")
        ),
        pytest.param(a_request(), a_node(no_schedule=("no inventory",)), "no inventory", marks=pytest.mark.req("F178")),
        pytest.param(a_request(), a_node(no_schedule=("terminating",)), "terminating", marks=pytest.mark.req("FA5")),
        pytest.param(a_request(), a_node(no_schedule=("unhealthy",)), "unhealthy", marks=pytest.mark.req("F179")),
        pytest.param(a_request(), a_node(no_schedule=("not ready",)), "not ready"),
        pytest.param(a_request(), a_node(no_schedule=("cordoned",)), "cordoned", marks=pytest.mark.req("F159")),
        pytest.param(a_request(), a_node(booted=False), None, marks=pytest.mark.req("FA2")),
        pytest.param(a_request(), a_node(no_schedule=()), None, marks=pytest.mark.req("P26")),
        pytest.param(
            a_request(tenant="acme"), a_node(no_schedule=("dedicated=acme",)), None, marks=pytest.mark.req("P27")
        ),
        pytest.param(
            a_request(tenant="zen"),
            a_node(no_schedule=("dedicated=acme",)),
            "dedicated=acme",
            marks=pytest.mark.req("P27"),
        ),
        pytest.param(
            a_request(), a_node(no_schedule=("dedicated=acme",)), "dedicated=acme", marks=pytest.mark.req("P29")
        ),
        pytest.param(
            a_request(tenant="acme"),
            a_node(no_schedule=("cordoned", "dedicated=acme")),
            "cordoned",
            marks=pytest.mark.req("P28"),
        ),
        pytest.param(
            a_request(tenant="acme"),
            a_node(no_schedule=("dedicated=acme", "dedicated=zen")),
            "dedicated=zen",
            marks=pytest.mark.req("PD11"),
        ),
        pytest.param(
            a_request(template="live"),
            a_node(spare=Spare(("vod", "xyz"), exclusive=True)),
            "reserved: reserved for vod, xyz",
            marks=pytest.mark.req("F160"),
        ),
        pytest.param(
            a_request(template="vod"),
            a_node(spare=Spare(("vod",), exclusive=True)),
            None,
            marks=pytest.mark.req("F160"),
        ),
        pytest.param(a_request(template="live"), a_node(spare=Spare(("vod",))), None, marks=pytest.mark.req("F160")),
        pytest.param(
            a_request(template="live", override_reservation=True),
            a_node(spare=Spare(("vod",), exclusive=True)),
            None,
            marks=pytest.mark.req("F160"),
        ),
        pytest.param(
            a_request(template="live"),
            a_node(spare=Spare(("vod",), exclusive=True, consumed=True)),
            None,
            marks=pytest.mark.req("F192"),
        ),
        pytest.param(
            a_request(labels={"rmctl/cap.gpu": "*"}),
            a_node(),
            "labels: rmctl/cap.gpu",
            marks=pytest.mark.req("F161", "P46"),
        ),
        pytest.param(
            a_request(labels={"rmctl/cap.gpu": "*"}),
            a_node(labels={"rmctl/cap.gpu": ""}),
            None,
            marks=pytest.mark.req("P51"),
        ),
        pytest.param(
            a_request(labels={"disk": "ssd"}),
            a_node(labels={"disk": "hdd"}),
            "labels: disk=ssd",
            marks=pytest.mark.req("P52"),
        ),
        pytest.param(
            a_request(labels={"disk": "ssd"}), a_node(labels={"disk": "ssd"}), None, marks=pytest.mark.req("P52")
        ),
        pytest.param(
            a_request(labels={"b": "*", "a": "1"}),
            a_node(),
            "labels: b",
            id="the first missing label in the request's order",
        ),
        pytest.param(a_request(ask=3), a_node(has=1), "fits: 1 of 3 vcpu free", marks=pytest.mark.req("F162", "PA3")),
        pytest.param(a_request(ask=4), a_node(has=4), None, marks=pytest.mark.req("F162")),
        pytest.param(
            a_request(ask=2.345), a_node(has=2.3), "fits: 2.3 of 2.345 vcpu free", marks=pytest.mark.req("F162")
        ),
        pytest.param(
            a_request(ask=vcpu(1, 3)), a_node(has=vcpu(4, 2)), "fits: 2 of 3 cores free", marks=pytest.mark.req("F163")
        ),
        pytest.param(
            a_request(ask=vcpu(1)), a_node(has=vcpu(4, 0)), None, id="no core pin", marks=pytest.mark.req("F68")
        ),
        pytest.param(a_request(ask=vcpu(1, 0, 512)), a_node(has=vcpu(4, 0, 256)), "fits: 256 of 512 memory free"),
        pytest.param(
            a_request(ask=1, room=vcpu(6)),
            a_node(has=4),
            "fits: 4 of 6 vcpu free",
            id="the first mover",
        ),
    ],
)
def test_a_node_by_itself(request_: Request, node: NodeView, said):
    assert refused(request_, node) == said


@pytest.mark.req("P63")
@pytest.mark.parametrize(("source", "said"), [("agent", "labels: rmctl/cap.gpu"), ("system", None)])
def test_a_label_of_the_system_counts_only_from_the_system(source, said):
    node = a_node()
    node = NodeView(
        name="a", pool="main", tier="local", capacity=node.capacity, labels={"rmctl/cap.gpu": ("1", source)}
    )
    assert refused(a_request(labels={"rmctl/cap.gpu": "*"}), node) == said


@pytest.mark.parametrize(
    ("request_", "claim", "said"),
    [
        pytest.param(
            a_request(ask=3), a_claim("a", ask=1.5), "fits: 2.5 of 3 vcpu free", marks=pytest.mark.req("F203")
        ),
        pytest.param(a_request(ask=1), a_claim("a", ask=5), "fits: 0 of 1 vcpu free", id="a node that shrank"),
        pytest.param(
            a_request(ports=("80/tcp", "8000/tcp")),
            a_claim("a", ports=("8000/tcp",)),
            "ports: 8000/tcp taken",
            marks=pytest.mark.req("F164", "F211"),
        ),
        pytest.param(
            a_request(ports=("8000/udp",)), a_claim("a", ports=("8000/tcp",)), None, marks=pytest.mark.req("F212")
        ),
        pytest.param(
            a_request(), a_claim("a", ports=("8000/tcp",)), None, id="nothing declared", marks=pytest.mark.req("F213")
        ),
        pytest.param(
            a_request(group_ports=("80/tcp", "81/tcp")),
            a_claim("a", ports=("81/tcp",)),
            "ports: 81/tcp taken",
            id="ports of the group",
        ),
        pytest.param(
            a_request(exclusive=True),
            a_claim("a"),
            "exclusive: other jobs are here",
            marks=pytest.mark.req("F95", "F166"),
        ),
        pytest.param(
            a_request(exclusive=True, together=["ch/primary/origin"]),
            a_claim("a", "ch/primary/origin"),
            None,
            marks=pytest.mark.req("F95"),
        ),
        pytest.param(
            a_request(),
            a_claim("a", "solo/primary/x", exclusive=True),
            "exclusive: held by solo/primary/x",
            marks=pytest.mark.req("F96"),
        ),
        pytest.param(
            a_request(together=["ch/primary/solo"]),
            a_claim("a", "ch/primary/solo", exclusive=True),
            None,
            marks=pytest.mark.req("F96"),
        ),
        pytest.param(
            a_request(separate=["ch/primary/origin"]),
            a_claim("a", "ch/primary/origin"),
            "separate: ch/primary/origin is here",
            marks=pytest.mark.req("F80", "F167"),
        ),
        pytest.param(
            a_request(separate=["ch/primary/origin"]),
            a_claim("a", "ch/backup/origin"),
            None,
            marks=pytest.mark.req("F81"),
        ),
        pytest.param(
            a_request(together=["ch/primary/origin"]),
            a_claim("b", "ch/primary/origin"),
            "together: ch/primary/origin is on b",
            marks=pytest.mark.req("F79", "F83", "F167"),
        ),
        pytest.param(
            a_request(together=["ch/primary/origin"]),
            a_claim("a", "ch/primary/origin"),
            None,
            marks=pytest.mark.req("F83"),
        ),
        pytest.param(
            a_request(together=["ch/primary/origin"]),
            a_claim("b", "ch/backup/origin"),
            None,
            marks=pytest.mark.req("F81"),
        ),
        pytest.param(
            a_request(same_zone="hard", peers=["ch/primary/origin"]),
            a_claim("b", "ch/primary/origin"),
            "zone: ch/primary/origin is in z-b",
            marks=pytest.mark.req("F91", "F168"),
        ),
        pytest.param(
            a_request(same_zone="hard", peers=["ch/primary/origin"]),
            a_claim("a", "ch/primary/origin"),
            None,
            marks=pytest.mark.req("F91"),
        ),
        pytest.param(
            a_request(same_zone="soft", peers=["ch/primary/origin"]),
            a_claim("b", "ch/primary/origin"),
            None,
            marks=pytest.mark.req("F92"),
        ),
        pytest.param(
            a_request(same_zone="off", peers=["ch/primary/origin"]),
            a_claim("b", "ch/primary/origin"),
            None,
            marks=pytest.mark.req("F93"),
        ),
        pytest.param(
            a_request(same_zone="hard", peers=["ch/primary/origin"]),
            a_claim("b"),
            None,
            id="first of all",
            marks=pytest.mark.req("F94"),
        ),
    ],
)
def test_a_node_beside_a_claim(request_, claim, said):
    assert refused(request_, a_node("a"), a_node("b"), claims=[claim]) == said


def test_a_peer_on_the_move_holds_both_zones_and_both_nodes():
    moving = [a_claim(node, "ch/primary/origin") for node in "ab"]
    beside = a_request(same_zone="hard", peers=["ch/primary/origin"], together=["ch/primary/origin"])
    said = [refused(beside, a_node(name), *(a_node(n) for n in "abc" if n != name), claims=moving) for name in "abc"]
    assert said == [None, None, "together: ch/primary/origin is on a"]


WORST = a_request(
    ask=9,
    pin="elsewhere",
    pool="other",
    excluded={"a": "recovering from this node"},
    template="live",
    labels={"gpu": "*"},
    ports=("80/tcp",),
    exclusive=True,
    separate=["ch/primary/x"],
    together=["ch/primary/y"],
    same_zone="hard",
    peers=["ch/primary/y"],
)
EVERY = (
    ("pin", "pinned to elsewhere"),
    ("pool", "pool main"),
    ("tier", "tier gold"),
    ("excluded", "recovering from this node"),
    ("schedulable", "not ready"),
    ("labels", "gpu"),
    ("fits", "3 of 9 vcpu free"),
    ("ports", "80/tcp taken"),
    ("exclusive", "other jobs are here"),
    ("separate", "ch/primary/x is here"),
    ("together", "ch/primary/y is on b"),
    ("zone", "ch/primary/y is in z-b"),
)


@pytest.mark.req("F169", "P23", "P24")
def test_every_refusal_is_told_in_the_order_of_the_filters_and_the_first_one_counts():
    fleet = a_fleet(
        a_node("a", tier="gold", no_schedule=("not ready", "cordoned")),
        a_node("b"),
        claims=[a_claim("a", "ch/primary/x", ports=("80/tcp",)), a_claim("b", "ch/primary/y")],
    )
    scene = scene_of(WORST, fleet, LOCAL)
    assert refusals(WORST, fleet.node("a"), scene) == tuple(Rejection("a", *pair) for pair in EVERY)
    assert refusal(WORST, fleet.node("a"), scene) == Rejection("a", *EVERY[0])


def test_the_order_of_the_filters_is_the_published_one():
    told = (
        "pin pool tier excluded schedulable reserved labels fits ports fits topology exclusive separate together zone"
    )
    assert [name for name, _ in FILTERS] == told.split()


@pytest.mark.req("P30")
@pytest.mark.parametrize("reason", ["unreachable", "no inventory", "terminating", "unhealthy", "not ready", "cordoned"])
def test_no_tenant_tolerates_any_other_reason(reason):
    assert refused(a_request(tenant=reason, override_reservation=True), a_node(no_schedule=(reason,))) == reason


@pytest.mark.req("F214")
def test_a_job_on_the_move_is_reserved_on_both_nodes():
    fleet = a_fleet(a_node("a"), a_node("b"), claims=[a_claim("a", ask=3), a_claim("b", ask=3)])
    asked = a_request(ask=2)
    assert [rejection.text for rejection in plan(asked, fleet, ONE_TIER).rejections] == ["fits: 1 of 2 vcpu free"] * 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        pytest.param({"ask": Amounts()}, "amounts", marks=pytest.mark.req("P6")),
        pytest.param({"ask": Amounts(-1)}, "amounts", marks=pytest.mark.req("PA1")),
        pytest.param({"ask": Amounts(1.5)}, "amounts", marks=pytest.mark.req("PA1")),
        pytest.param({"ask": Amounts(True)}, "amounts", marks=pytest.mark.req("PA1")),
        pytest.param({"ask": 2, "room": vcpu(1)}, "room"),
        pytest.param({"ports": ("80",)}, "ports"),
        pytest.param({"ports": ("65536/tcp",)}, "ports"),
    ],
)
def test_a_malformed_request_is_refused_before_anything_is_planned(fields, field):
    with pytest.raises(InvalidRequest) as caught:
        a_request(**fields)
    assert (caught.value.code, caught.value.field) == ("INVALID_INPUT", field)
