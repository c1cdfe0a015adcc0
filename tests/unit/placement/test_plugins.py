"""Plugins: what they may say, what it counts for, and what becomes of one that misbehaves."""

from __future__ import annotations

import math
import sys
from itertools import count

import pytest

from placement import WEIGHTED, Placed, PoolPolicy, Ranking, place, plan, ranking_from
from placement.explain import trace
from placement.fullness import SCALE
from placement.plugins import Plugin, Scorer
from placement.ranking import reweighted, with_scorers
from tests.placement_cards import a_gpu_node, gpus
from tests.placement_worlds import LOCAL, a_claim, a_fleet, a_node, a_request

FLEET = a_fleet(a_node("a"), a_node("b"), a_node("c"))


def under(*plugins: Plugin, ranking: Ranking = WEIGHTED) -> PoolPolicy:
    scorers = [(scorer.id, scorer.weight) for plugin in plugins for scorer in plugin.scorers]
    return PoolPolicy(tiers=(LOCAL,), ranking=with_scorers(ranking, scorers), plugins=plugins)


def filtering(rule, name="f") -> Plugin:
    return Plugin("p", filters={name: rule})


def scoring(rule, weight=1.0) -> Plugin:
    return Plugin("p", scorers=(Scorer("s", rule, weight),))


def picking(rule) -> Plugin:
    return Plugin("p", pickers={"gpu": rule})


def loops(*_):
    while True:
        pass


def swallows(*_):
    while True:
        try:
            while True:
                try:
                    len("x")
                except BaseException:  # noqa: S110
                    pass
        except BaseException:
            len("y")


def hides(*_):
    """Out of steps, it answers as if nothing was."""
    try:
        loops()
    except BaseException:
        return


def raises(*_):
    raise ValueError("no such rack")


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("not even that")

    __repr__ = __str__


def raises_unspeakably(*_):
    raise Unspeakable


class Odd(float):
    def __lt__(self, other):
        raise RuntimeError("not to be compared")

    __gt__ = __lt__


def told(policy, fleet=FLEET, **fields):
    return plan(a_request(**fields), fleet, policy).answer


@pytest.mark.req("P24")
def test_a_filter_is_asked_about_what_every_other_rule_keeps():
    asked = []

    def rule(request, node):
        asked.append(node.name)
        return "rack r13" if node.name == "a" else None

    fleet = a_fleet(a_node("a"), a_node("b", no_schedule=("cordoned",)), a_node("c"))
    done = plan(a_request(), fleet, under(filtering(rule)))
    assert sorted(set(asked)) == ["a", "c"]
    assert [(one.node, one.text) for one in done.rejections] == [("a", "f: rack r13"), ("b", "cordoned")]


@pytest.mark.req("PA25")
def test_a_filter_forbids_no_shortcut():
    policy = under(filtering(lambda request, node: "not here" if node.name != "c" else True))
    assert place(a_request(), FLEET, policy).answer == plan(a_request(), FLEET, policy).answer
    assert place(a_request(), FLEET, policy).answer.node == "c"
    nowhere = under(filtering(lambda request, node: "not here"))
    assert place(a_request(), FLEET, nowhere).answer == plan(a_request(), FLEET, nowhere).answer


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (raises, "failed: ValueError: no such rack"),
        (loops, "did not come to an end"),
        (swallows, "did not come to an end"),
        (hides, "did not come to an end"),
        (lambda request, node: sys.exit(3), "failed: SystemExit: 3"),
        (lambda request, node: throws(KeyboardInterrupt()), "failed: KeyboardInterrupt"),
        (lambda request, node: throws(GeneratorExit()), "failed: GeneratorExit"),
        (raises_unspeakably, "failed, and does not say of what"),
        (lambda request, node: Unspeakable(), "answered something of type Unspeakable, neither None nor a reason"),
        (lambda request, node: (one for one in ()), "answered something of type generator, neither"),
        (lambda request, node: 10**400, "answered something of type int, neither None nor a reason"),
        (lambda request, node: "bad \ud800\n\x1b[31mred", r"bad \ud800\n\x1b[31mred"),
        (lambda request, node: f"{object()} is in the way", "<object object> is in the way"),
        (lambda request, node: 5, "answered 5, neither None nor a reason"),
        (lambda request, node: "", "answered '', neither None nor a reason"),
        (lambda: None, "failed: TypeError"),
    ],
)
def test_a_filter_that_misbehaves_costs_its_node_with_a_reason(rule, reason):
    done = plan(a_request(), FLEET, under(filtering(rule)))
    assert not done.placed
    assert all(one.text.startswith(f"f: {reason}") for one in done.rejections)


def throws(error):
    raise error


def test_a_reason_is_cut_where_it_grows_long():
    done = plan(a_request(), FLEET, under(filtering(lambda request, node: "x" * 3_000_000)))
    assert [one.reason for one in done.rejections] == ["x" * 299 + "…"] * 3


def test_a_text_of_a_plugins_own_kind_is_read_as_text():
    class Word(str):
        __slots__ = ()

        def __len__(self):
            raise RuntimeError("not to be measured")

    done = plan(a_request(), FLEET, under(filtering(lambda request, node: Word("no"))))
    assert {type(one.reason) for one in done.rejections} == {str}


@pytest.mark.parametrize(
    "change",
    [
        lambda request, node: node.labels.clear(),
        lambda request, node: node.labels.update({"rmctl/cap.magic": ("1", "system")}),
        lambda request, node: node.claims.clear(),
        lambda request, node: node.claims.update(x=1),
        lambda request, node: node.board.layout.attributes[0].update(gpuModel="H200"),
        lambda request, node: node.board.layout.by_kind.clear(),
        lambda request, node: request.labels.clear(),
        lambda request, node: request.excluded.update(a="no"),
        lambda request, node: object.__setattr__(node, "claims", {}),
        lambda request, node: object.__setattr__(request, "labels", {}),
        lambda request, node: node.board.layout.memo.clear(),
    ],
)
def test_nothing_that_a_rule_sees_can_be_changed_by_it(change):
    fleet = a_fleet(a_gpu_node("a", 2, labels={"rack": "r1"}, gpuModel="H100"), claims=[a_claim("a")])
    request = a_request(labels={"rack": "r1"}, excluded={"b": "tried"}, devices=(gpus(1),))
    tried = count()

    def rule(request, node):
        next(tried)
        change(request, node)

    def seen():
        node = fleet.node("a")
        return repr((request, node, node.board.layout.by_kind)), len(node.board.layout.memo)

    assert plan(request, fleet, under(filtering(lambda request, node: None))).placed
    before = seen()
    plan(request, fleet, under(filtering(rule)))
    assert (seen(), next(tried)) == (before, 1)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [(raises, "failed: ValueError"), (loops, "did not come to an end"), (lambda r, n: "high", "scored 'high'")],
)
def test_a_scorer_that_misbehaves_costs_its_node_with_a_reason(rule, reason):
    done = plan(a_request(), FLEET, under(scoring(lambda r, n: rule(r, n) if n.name == "a" else 1)))
    assert [(one.node, one.text.startswith(f"s: {reason}")) for one in done.rejections] == [("a", True)]
    assert done.answer.node == "b"


def test_what_traced_before_traces_again():
    before = sys.gettrace()
    told(under(filtering(loops)))
    assert sys.gettrace() is before


@pytest.mark.req("P101", "PD16")
@pytest.mark.parametrize(
    ("score", "counts"),
    [
        (0.5, 0.5),
        (7, 1),
        (-3, 0),
        (math.nan, 0),
        (math.inf, 1),
        (1, 1),
        pytest.param(10**400, 1, id="huge"),
        (Odd(0.5), 0.5),
    ],
)
def test_scores_are_clamped(score, counts):
    ranking = Ranking(((("booted", 1000),),))
    done = plan(a_request(), FLEET, under(scoring(lambda r, n: score), ranking=ranking))
    assert done.ranked[0].key == (round((1 + counts) * 1000 * SCALE),)


@pytest.mark.req("P102")
def test_the_weight_of_a_scorer_is_one_unless_it_says_otherwise():
    assert Scorer("s", raises).weight == 1
    plain = Ranking(((("booted", 1000),),))
    assert with_scorers(plain, [("s", 1)]).levels == ((("booted", 1000), ("s", 1000)),)
    assert with_scorers(plain, [("s", 0.25)]).levels == ((("booted", 1000), ("s", 250)),)


@pytest.mark.req("P103")
def test_weights_override_any_id():
    ranking = with_scorers(WEIGHTED, [("s", 1)])
    changed = reweighted(ranking, {"s": 3, "binpack": 0.5, "spread": 0})
    assert changed.levels == ((("packing", 500), ("topology", 1000), ("s", 3000)),)
    assert reweighted(ranking, {"other": 3}) == ranking


def test_a_level_may_name_a_scorer():
    ranking = ranking_from({"levels": [{"s": 2}, ["packing"]]}, ["s"])
    assert with_scorers(ranking, [("s", 1)]) == ranking
    assert ranking.levels == ((("s", 2000),), (("packing", 1000),))


@pytest.mark.req("P104")
def test_a_scorer_decides_and_ties_go_by_name():
    best = scoring(lambda request, node: 1 if node.name in "bc" else 0)
    assert told(under(best, ranking=WEIGHTED._replace(top_n=1))).node == "b"
    assert place(a_request(), FLEET, under(best)).answer.node == "b"


@pytest.mark.req("P86")
def test_a_picker_wins_over_the_default_pick():
    fleet = a_fleet(a_gpu_node("a", 4))
    answer = told(under(picking(lambda r, n, able, wanted: able[-wanted:])), fleet, devices=(gpus(2),))
    assert [atom.id for atom in answer.devices] == ["gpu-02", "gpu-03"]


@pytest.mark.req("P85")
def test_a_picker_is_not_asked_where_there_is_no_choice():
    fleet = a_fleet(a_gpu_node("a", 2))
    assert isinstance(told(under(picking(raises)), fleet, devices=(gpus(2),)), Placed)


@pytest.mark.req("P87")
@pytest.mark.parametrize(
    "rule",
    [
        lambda r, n, able, wanted: able[:1],
        lambda r, n, able, wanted: able[:3],
        lambda r, n, able, wanted: [able[0], able[0]],
        lambda r, n, able, wanted: [able[0], "foreign"],
        lambda r, n, able, wanted: 5,
        raises,
        loops,
    ],
    ids=["short", "long", "duplicate", "foreign", "nonsense", "exception", "loop"],
)
def test_a_picker_that_picks_no_valid_set_costs_its_node(rule):
    fleet = a_fleet(a_gpu_node("a", 4))
    done = plan(a_request(devices=(gpus(2),)), fleet, under(picking(rule)))
    assert [one.text for one in done.rejections] == ["pick: picker for gpu returned no valid set"]


@pytest.mark.req("PD10")
def test_a_picked_set_is_judged_by_its_links_too():
    fleet = a_fleet(a_gpu_node("a", 3, links={(0, 1): "NV4", (1, 2): "PIX", (0, 2): "PIX"}))
    policy = under(picking(lambda r, n, able, wanted: ["gpu-01", "gpu-02"]))
    done = plan(a_request(devices=(gpus(2, topology="nvlink-all"),)), fleet, policy)
    assert [one.text for one in done.rejections] == ["topology: no NVLink-complete set of 2 gpu"]


def test_a_picked_atom_is_nobody_elses():
    fleet = a_fleet(a_gpu_node("a", 4), claims=[a_claim("a", devices=(("gpu-03", 1000),))])
    seen = []

    def rule(request, node, able, wanted):
        seen.append(able)
        return able[:wanted]

    answer = told(under(picking(rule)), fleet, devices=(gpus(1), gpus(1)))
    assert [atom.id for atom in answer.devices] == ["gpu-00", "gpu-01"]
    assert seen[:2] == [("gpu-00", "gpu-01", "gpu-02"), ("gpu-01", "gpu-02")]


def test_what_a_picker_said_holds_for_the_whole_plan():
    """It was kept for one set, and gets that one, though the picker would say another by then."""
    turns = count()
    fleet = a_fleet(a_gpu_node("a", 4))
    answer = told(under(picking(lambda r, n, able, wanted: able[next(turns) :][:wanted])), fleet, devices=(gpus(2),))
    assert [atom.id for atom in answer.devices] == ["gpu-00", "gpu-01"]
    assert next(turns) == 1


def test_a_word_on_admission_is_for_the_whole_request():
    closed = Plugin("hours", admit=lambda request: f"{request.bundle} only at night")
    for found in (plan(a_request(), FLEET, under(closed)), place(a_request(), FLEET, under(closed))):
        assert found.answer.reason == "hours: ch only at night"
    failing = Plugin("hours", admit=raises)
    assert told(under(failing)).reason == "hours: failed: ValueError: no such rack"
    assert isinstance(told(under(Plugin("hours", admit=lambda request: None))), Placed)


def test_each_rule_is_asked_once_about_a_node_in_a_plan():
    calls = count()
    plan(a_request(), FLEET, under(scoring(lambda r, n: next(calls) * 0)))
    assert next(calls) == 3


def test_a_trace_tells_of_a_plugin_as_of_any_rule():
    shown = trace(a_request(), FLEET, under(filtering(lambda r, n: "no" if n.name == "b" else None)))
    assert {node.node: node.refusals for node in shown.nodes} == {"a": (), "b": ("f: no",), "c": ()}
