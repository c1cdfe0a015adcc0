"""The lexicographic preset: what wins over what, level by level."""

import pytest

from placement import Forbid, PoolPolicy, Spare, TierPolicy, plan
from placement.fullness import SCALE
from placement.levels import packing, shares, violations
from placement.ranking import LEXICOGRAPHIC
from placement.scene import scene_of
from tests.placement_worlds import ONE_TIER, a_claim, a_fleet, a_node, a_request, vcpu

SPREAD = PoolPolicy(tiers=(TierPolicy(name="local", packing="spread"),))

SPARE = {"spare": Spare()}
RESERVED = {"spare": Spare(("encode",))}
WARM = {"images": frozenset({"encoder:1", "base:2"})}
LUKEWARM = {"images": frozenset({"encoder:1"})}
IMAGES = frozenset({"encoder:1", "base:2"})


def winner(request, *nodes, claims=(), policy=ONE_TIER):
    return plan(request, a_fleet(*nodes, claims=claims), policy).answer.node


@pytest.mark.parametrize(
    ("request_", "worse", "better"),
    [
        pytest.param(a_request(), {"booted": False}, {}, id="booted", marks=pytest.mark.req("F182")),
        pytest.param(a_request(spare="avoid"), SPARE, {}, id="avoided spare", marks=pytest.mark.req("F183")),
        pytest.param(a_request(images=IMAGES), {}, LUKEWARM, id="warm", marks=pytest.mark.req("F184")),
        pytest.param(a_request(images=IMAGES), LUKEWARM, WARM, id="warmer", marks=pytest.mark.req("F184")),
        pytest.param(a_request(template="encode"), SPARE, RESERVED, id="reserved", marks=pytest.mark.req("F185")),
        pytest.param(a_request(spare="prefer"), {}, SPARE, id="preferred spare", marks=pytest.mark.req("F186")),
        pytest.param(
            a_request(spare="avoid", images=IMAGES),
            SPARE | WARM,
            {},
            id="avoid over warmth",
            marks=pytest.mark.req("F193"),
        ),
        pytest.param(
            a_request(spare="prefer", images=IMAGES),
            SPARE,
            WARM,
            id="warmth over preferred spare",
            marks=pytest.mark.req("F194"),
        ),
        pytest.param(
            a_request(spare="avoid"),
            {"booted": False},
            SPARE,
            id="booted over avoided spare",
            marks=pytest.mark.req("F195", "FA3"),
        ),
        pytest.param(
            a_request(spare="avoid", template="encode"),
            RESERVED,
            {},
            id="avoid over reservation",
            marks=pytest.mark.req("F196", "FA4"),
        ),
        pytest.param(
            a_request(template="encode", images=IMAGES),
            RESERVED,
            LUKEWARM,
            id="warmth over reservation",
            marks=pytest.mark.req("F180"),
        ),
        pytest.param(
            a_request(template="encode", spare="prefer"),
            SPARE,
            RESERVED,
            id="reservation over preferred spare",
            marks=pytest.mark.req("F180"),
        ),
    ],
)
def test_the_better_node_wins_although_its_name_comes_last(request_, worse, better):
    assert winner(request_, a_node("a", **worse), a_node("b", **better)) == "b"


@pytest.mark.req("F189", "F190")
def test_lookalikes_go_by_name():
    assert winner(a_request(), a_node("n10"), a_node("n2"), a_node("n1")) == "n1"


@pytest.mark.req("F187")
@pytest.mark.parametrize(("policy", "node"), [(ONE_TIER, "b"), (SPREAD, "a")])
def test_binpack_takes_the_fuller_node_and_spread_the_emptier(policy, node):
    claims = [a_claim("a", ask=1), a_claim("b", ask=2)]
    assert winner(a_request(), a_node("a"), a_node("b"), claims=claims, policy=policy) == node


@pytest.mark.parametrize(
    ("ask", "has", "used", "share"),
    [
        (vcpu(1), vcpu(4), vcpu(1), 0.5),
        (vcpu(1, 1), vcpu(4, 4), vcpu(1), 0.375),
        (vcpu(1), vcpu(4, 8), vcpu(1, 8), 0.5),
    ],
)
def test_fullness_is_the_mean_over_what_is_asked(ask, has, used, share):
    fleet = a_fleet(a_node("a", has), claims=[a_claim("a", ask=used)])
    request = a_request(ask=ask)
    assert packing(request, fleet.node("a"), scene_of(request, fleet, ONE_TIER.tiers[0])) == share * SCALE


@pytest.mark.req("F188")
def test_a_zone_that_holds_a_peer_wins_last_of_all():
    beside = a_request(same_zone="soft", peers=["ch/primary/origin"])
    nodes = [a_node("a", zone="z1"), a_node("b", zone="z2"), a_node("c", zone="z2")]
    origin = a_claim("c", "ch/primary/origin", ask=4)
    assert winner(beside, *nodes, claims=[origin]) == "b"
    assert winner(beside, *nodes, claims=[origin, a_claim("a")]) == "a"


@pytest.mark.req("F93")
def test_with_same_zone_off_the_zone_does_not_rank():
    beside = a_request(same_zone="off", peers=["ch/primary/origin"])
    nodes = [a_node("a", zone="z1"), a_node("b", zone="z2"), a_node("c", zone="z2")]
    assert winner(beside, *nodes, claims=[a_claim("c", "ch/primary/origin", ask=4)]) == "a"


@pytest.mark.req("F191", "F192")
@pytest.mark.parametrize(
    ("tag", "claims"),
    [(Spare(("encode",)), [a_claim("b", ask=0.5)]), (Spare(("encode",), consumed=True), [])],
    ids=["carries a job", "has carried one"],
)
def test_a_spare_that_was_taken_is_an_ordinary_node(tag, claims):
    nodes = [a_node("a"), a_node("b", spare=tag)]
    spread = [SPREAD] * 3
    requests = (a_request(template="encode"), a_request(spare="prefer"), a_request(spare="avoid"))
    assert [winner(r, *nodes, claims=claims, policy=p) for r, p in zip(requests, spread, strict=True)] == ["a"] * 3
    level = plan(requests[2], a_fleet(*nodes, claims=claims), SPREAD).ranked[1]
    assert (level.node, shares(LEXICOGRAPHIC, level.key)["avoid_spare"]) == ("b", 1.0)


@pytest.mark.req("F197")
def test_a_move_ranks_spares_like_any_other_node():
    nodes = [a_node("a", spare=Spare()), a_node("b"), a_node("c", spare=Spare())]
    ranked = plan(a_request(spare="any"), a_fleet(*nodes), ONE_TIER).ranked
    assert [entry.node for entry in ranked] == ["a", "b", "c"]
    assert len({entry.key for entry in ranked}) == 1


FORBID = Forbid(frozenset({"a"}), frozenset({"z-a", "z-b"}), frozenset({"local-servers"}))


@pytest.mark.parametrize(
    ("role", "node", "flags"),
    [
        pytest.param("backup", "a", ("sameNode", "sameAz", "sameCloud"), marks=pytest.mark.req("F114")),
        pytest.param("backup", "b", ("sameAz", "sameCloud")),
        pytest.param("backup", "c", ("sameCloud",)),
        pytest.param("primary", "a", (), marks=pytest.mark.req("F113")),
    ],
)
def test_the_flags_that_a_place_breaks(role, node, flags):
    assert violations(a_request(f"ch/{role}/encode", forbid=FORBID), a_node(node)) == flags


@pytest.mark.req("F112", "F181")
def test_fewer_broken_flags_win_over_everything_else():
    backup = a_request("ch/backup/encode", forbid=FORBID, images=IMAGES)
    assert winner(backup, a_node("a", **WARM), a_node("b", **WARM), a_node("c", booted=False)) == "c"


def test_nothing_forbidden_is_everything_allowed():
    assert violations(a_request("ch/backup/encode"), a_node("a")) == ()
