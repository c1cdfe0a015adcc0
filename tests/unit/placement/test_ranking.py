"""Rankings as a pool spells them, and the draw among equals."""

import pytest

from placement import (
    LEXICOGRAPHIC,
    WEIGHTED,
    InvalidRequest,
    PoolPolicy,
    Ranking,
    TierPolicy,
    place,
    plan,
    ranking_from,
)
from placement.explain import drawn, trace
from placement.fullness import SCALE
from placement.levels import shares
from placement.ranking import draw
from tests.placement_worlds import LOCAL, ONE_TIER, a_claim, a_fleet, a_node, a_request


@pytest.mark.parametrize(
    ("plain", "ranking"),
    [
        ("lexicographic", LEXICOGRAPHIC),
        ("weighted", WEIGHTED),
        ({"levels": [["packing"]]}, Ranking(((("packing", 1000),),))),
        (
            {"levels": [["resilience"], {"binpack": 1, "spread": 0.25}], "topN": 5},
            Ranking(((("resilience", 1000),), (("packing", 1000), ("spread", 250))), 5),
        ),
    ],
)
def test_a_ranking_is_read(plain, ranking):
    assert ranking_from(plain) == ranking


@pytest.mark.parametrize(
    ("plain", "field"),
    [
        ("best", "ranking"),
        (7, "ranking"),
        ({"levels": [["packing"]], "top": 3}, "ranking"),
        ({"levels": []}, "ranking.levels"),
        ({"levels": [[]]}, "ranking.levels[0]"),
        ({"levels": [["packing"], ["luck"]]}, "ranking.levels[1]"),
        ({"levels": [{"packing": 0}]}, "ranking.levels[0]"),
        ({"levels": [{"packing": True}]}, "ranking.levels[0]"),
        ({"levels": [["packing"]], "topN": 0}, "ranking.topN"),
    ],
)
def test_a_bad_ranking_is_refused_by_field(plain, field):
    with pytest.raises(InvalidRequest) as caught:
        ranking_from(plain)
    assert caught.value.field == field


def test_the_first_seeds_table_is_the_default():
    told = "resilience booted avoid_spare warmth reservation prefer_spare packing same_zone"
    assert (PoolPolicy(tiers=(LOCAL,)).ranking, LEXICOGRAPHIC.names) == (LEXICOGRAPHIC, tuple(told.split()))


@pytest.mark.req("P105")
def test_the_weighted_ranking_draws_among_the_best_five():
    fleet = a_fleet(*(a_node(name) for name in "abcdefg"), claims=[a_claim("g", ask=2)])
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    drawn = {plan(a_request(), fleet, policy, seed=seed).answer.node for seed in range(200)}
    assert drawn == set("gabcd")


@pytest.mark.req("P105")
def test_with_fewer_nodes_it_draws_among_all():
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    drawn = {plan(a_request(), a_fleet(a_node("a"), a_node("b")), policy, seed=seed).answer.node for seed in range(50)}
    assert drawn == {"a", "b"}


def test_a_draw_stays_among_equals_of_the_levels_above():
    ranking = ranking_from({"levels": [["booted"], ["packing"]], "topN": 5})
    policy = PoolPolicy(tiers=(LOCAL,), ranking=ranking)
    fleet = a_fleet(a_node("a", booted=False), a_node("b"), a_node("c"), claims=[a_claim("c", ask=2)])
    assert {plan(a_request(), fleet, policy, seed=seed).answer.node for seed in range(50)} == {"b", "c"}


@pytest.mark.req("PD15", "PA17")
def test_an_index_is_the_floor_of_the_draw_times_the_choice():
    assert sorted({draw(seed, 3) for seed in range(100)}) == [0, 1, 2]
    assert [draw(seed, 1) for seed in range(5)] == [0] * 5


@pytest.mark.req("PA18")
def test_a_preview_takes_the_best():
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    fleet = a_fleet(*(a_node(name) for name in "abcdefg"), claims=[a_claim("g", ask=2)])
    assert plan(a_request(), fleet, policy).answer.node == "g"


def test_what_is_drawn_is_told_as_drawn():
    ranking = ranking_from({"levels": [["booted"], ["packing"]], "topN": 5})
    policy = PoolPolicy(tiers=(LOCAL,), ranking=ranking)
    fleet = a_fleet(a_node("a", booted=False), a_node("b"), a_node("c"), claims=[a_claim("c", ask=2)])
    for seed in range(9):
        assert drawn(plan(a_request(), fleet, policy, seed=seed), ranking) == ("c", "b")
        assert drawn(place(a_request(), fleet, policy, seed=seed, first=10), ranking) == ("c", "b")
    told = trace(a_request(), fleet, policy)
    assert [(one.node, one.verdict) for one in told.nodes] == [("c", "drawn"), ("b", "drawn"), ("a", "kept")]
    alone = a_fleet(a_node("a", booted=False), a_node("b"))
    assert drawn(plan(a_request(), alone, policy), ranking) == ()
    assert drawn(plan(a_request(ask=100), fleet, policy), ranking) == ()
    assert drawn(plan(a_request(), fleet, PoolPolicy(tiers=(LOCAL,))), LEXICOGRAPHIC) == ()


@pytest.mark.req("P10")
def test_the_same_seed_takes_the_same_node():
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    fleet = a_fleet(*(a_node(name) for name in "abcdefg"))
    assert [plan(a_request(), fleet, policy, seed=s) for s in range(9)] == [
        plan(a_request(), fleet.copy(), policy, seed=s) for s in range(9)
    ]


@pytest.mark.req("P104")
def test_ties_of_a_weighted_sum_go_by_name():
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    assert [entry.node for entry in plan(a_request(), a_fleet(a_node("b"), a_node("a")), policy).ranked] == ["a", "b"]


@pytest.mark.req("P100")
def test_a_level_is_the_weighted_sum_of_measures_between_0_and_1():
    fleet = a_fleet(a_node("a"), claims=[a_claim("a", ask=1, tenant="acme")])
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    (entry,) = plan(a_request(tenant="acme"), fleet, policy).ranked
    assert entry.key == (1000 * SCALE // 2 + 1000 * SCALE // 2 + 250 * SCALE // 2,)
    assert shares(WEIGHTED, entry.key) == {"packing+topology+spread": 0.5}


def test_a_tiers_name_stands_once_in_a_pool():
    with pytest.raises(InvalidRequest):
        PoolPolicy(tiers=(TierPolicy(name="local"), TierPolicy(name="local")))


def test_one_draw_only_where_the_ranking_asks_for_it():
    fleet = a_fleet(*(a_node(name) for name in "abc"))
    assert {plan(a_request(), fleet, ONE_TIER, seed=seed).answer.node for seed in range(20)} == {"a"}


@pytest.mark.req("P105", "P106")
def test_two_planners_on_one_snapshot_meet_in_about_a_fifth_of_the_draws():
    fleet = a_fleet(*(a_node(name) for name in "abcdefgh"))
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    drawn = [[place(a_request(), fleet, policy, seed=f"{who}-{n}").answer.node for n in range(1000)] for who in "xy"]
    assert set(drawn[0]) == set("abcde")
    assert 0.15 < sum(one == other for one, other in zip(*drawn, strict=True)) / 1000 < 0.25
