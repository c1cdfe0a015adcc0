"""Devices: which atoms are candidates, which are taken, and what is said when there are too few."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from placement import WEIGHTED, Amounts, Ask, Atom, Claim, InvalidRequest, Placed, PoolPolicy, TierPolicy, board, plan
from placement.fullness import SCALE
from placement.picks import EXACT, bits, pick, spread, within, worst_link
from resources.selector_text import parse_devices
from tests.placement_cards import a_gpu_node, cards, gpus
from tests.placement_worlds import LOCAL, ONE_TIER, a_claim, a_fleet, a_node, a_request

SPREAD = PoolPolicy(tiers=(TierPolicy(name="local", packing="spread"),))


def asked(*asks, policy=ONE_TIER, nodes=(), claims=(), **fields):
    """The atoms that a job gets, or the sentence that it gets none."""
    answer = plan(a_request(devices=asks, **fields), a_fleet(*nodes, claims=claims), policy).answer
    return [atom.id for atom in answer.devices] if isinstance(answer, Placed) else answer.reason


def holds(node, *atoms, units=1000, **fields):
    return a_claim(node, devices=tuple((f"gpu-{at:02}", units) for at in atoms), **fields)


@pytest.mark.req("P64")
def test_each_condition_alone_removes_an_atom():
    """Class, window, health, bookability and selector; only the last atom has nothing against it."""
    atoms = [
        Atom("a", "nic", (("model", "x"),)),
        Atom("b", "gpu", (("model", "x"),)),
        Atom("c", "gpu", (("model", "x"),), healthy=False),
        Atom("d", "gpu", (("model", "x"),), bookable=False),
        Atom("e", "gpu", (("model", "y"),)),
        Atom("f", "gpu", (("model", "x"),)),
    ]
    node = a_node("a", board=board(atoms))
    busy = a_claim("a", devices=(("b", 1000),))
    assert asked(gpus(1, "model = x"), nodes=[node], claims=[busy]) == ["f"]
    told = asked(gpus(2, "model = x"), nodes=[node], claims=[busy])
    assert told == "no node fits (1 nodes): 1 × fits: 1 of 2 gpu free where model = x (2 of any)"


@pytest.mark.req("PA4", "P133")
def test_the_free_are_counted_of_those_asked():
    nodes = [
        a_gpu_node("a", 4, sick=(0, 1, 2)),
        a_gpu_node("b", 8, sick=range(7)),
        a_node("c", no_schedule=("cordoned",)),
    ]
    assert asked(gpus(4), nodes=nodes) == "no node fits (3 nodes): 2 × fits: 1 of 4 gpu free; 1 × cordoned"


@pytest.mark.req("P65", "PA29")
@pytest.mark.parametrize(
    ("window", "free"),
    [
        ((100, 200), False),
        ((50, 100), True),
        ((200, 300), True),
        ((50, 101), False),
        ((199, 300), False),
        ((200, None), True),
        ((0, None), False),
    ],
)
def test_free_is_judged_over_the_whole_half_open_window(window, free):
    booked = holds("a", 0, start=100.0, end=200.0)
    start, end = window
    told = asked(gpus(), nodes=[a_gpu_node("a", 1)], claims=[booked], start=start, end=end)
    assert (told == ["gpu-00"]) is free


@pytest.mark.req("P67", "PA8")
def test_an_attribute_comes_before_a_node_label_of_the_same_key():
    node = a_gpu_node("a", 1, labels={"rack": "label", "tray": "label"}, rack="attribute")
    assert asked(gpus(1, "rack = attribute, tray = label"), nodes=[node]) == ["gpu-00"]
    assert "0 of 1 gpu free" in asked(gpus(1, "rack = label"), nodes=[node])


@pytest.mark.req("P84")
def test_the_known_attributes_and_labels_select():
    given = {"gpuProduct": "H100-SXM5-80GB", "gpuModel": "H100", "vramGiB": "80", "numaNode": "1"}
    given |= {"architecture": "hopper", "computeCapability": "9.0", "migCapable": "true"}
    labels = {
        "gpu.product": "H100",
        "gpu.model": "h",
        "cuda.driver.major": "12",
        "mig.capable": "true",
        "fabric.domain": "f1",
    }
    node = a_gpu_node("a", 1, labels=labels, **given)
    text = ", ".join(f"{key} = {value}" for key, value in {**given, **labels}.items())
    assert asked(gpus(1, f"{text}, computeCapability >= 8.9, cuda.driver.major > 11"), nodes=[node]) == ["gpu-00"]


@pytest.mark.req("P85")
def test_with_as_many_as_are_asked_all_are_taken_and_still_judged():
    node = a_gpu_node("a", 4, links={(0, 1): "NV1", (2, 3): "NV1", (0, 2): "SYS"})
    assert asked(gpus(4), nodes=[node]) == ["gpu-00", "gpu-01", "gpu-02", "gpu-03"]
    told = asked(gpus(4, topology="nvlink-all"), nodes=[node])
    assert told == "no node fits (1 nodes): 1 × topology: no NVLink-complete set of 4 gpu"


@pytest.mark.req("P88")
def test_a_complete_set_comes_before_fewer_numa_nodes():
    links = {(0, 1): "PIX", (0, 2): "NV1", (0, 3): "SYS", (1, 2): "SYS", (1, 3): "SYS", (2, 3): "SYS"}
    assert asked(gpus(2), nodes=[a_gpu_node("a", 4, links=links, numa=(0, 0, 1, 1))]) == ["gpu-00", "gpu-02"]


@pytest.mark.req("P92")
def test_among_equal_links_the_fewest_numa_nodes_win():
    assert asked(gpus(2), nodes=[a_gpu_node("a", 4, numa=(0, 1, 2, 1))]) == ["gpu-01", "gpu-03"]


@pytest.mark.req("PA13", "PD8", "PA26")
def test_what_is_left_of_a_tie_goes_to_the_lowest_ids():
    assert asked(gpus(3), nodes=[a_gpu_node("a", 8)]) == ["gpu-00", "gpu-01", "gpu-02"]


@pytest.mark.req("P93", "PA15")
@pytest.mark.parametrize(
    ("better", "worse"),
    [("NV1", "PIX"), ("PIX", "PXB"), ("PXB", "PHB"), ("PHB", "NODE"), ("NODE", "SYS"), ("SYS", "?")],
)
def test_links_rank_as_published(better, worse):
    links = dict.fromkeys(combinations(range(4), 2), worse) | {(2, 3): better}
    assert asked(gpus(2), nodes=[a_gpu_node("a", 4, links=links)]) == ["gpu-02", "gpu-03"]


@pytest.mark.req("P94")
def test_parts_of_one_card_are_as_near_as_can_be():
    node = a_gpu_node("a", 4, links="SYS", parents={1: "card-1", 3: "card-1", 0: "card-0", 2: "card-2"})
    assert asked(gpus(2, topology="nvlink-all"), nodes=[node]) == ["gpu-01", "gpu-03"]


@pytest.mark.req("P95")
def test_a_pick_below_nv_is_refused_where_all_must_be_linked():
    linked, apart = a_gpu_node("b", 2, links="NV18"), a_gpu_node("a", 2, links="PIX")
    assert asked(gpus(2, topology="nvlink-all"), nodes=[apart, linked]) == ["gpu-00", "gpu-01"]
    assert "1 × topology: no NVLink-complete set of 2 gpu" in asked(gpus(2, topology="nvlink-all"), nodes=[apart])


ALL = {"topology": "nvlink-all"}
PATH = {(0, 1): "NV4", (0, 2): "NV4", (1, 3): "NV4"}


def test_asks_that_must_be_linked_find_their_sets_together():
    """The best for the first alone, 0 and 1, leaves none to the second."""
    node = a_gpu_node("a", 4, links=PATH)
    assert asked(gpus(2, **ALL), gpus(2, **ALL), nodes=[node]) == ["gpu-00", "gpu-02", "gpu-01", "gpu-03"]
    assert asked(gpus(2, **ALL), group_devices=(gpus(2, **ALL),), nodes=[node]) == ["gpu-00", "gpu-02"]
    told = asked(gpus(2, **ALL), gpus(2, **ALL), gpus(1), nodes=[a_gpu_node("a", 5, links={**PATH, (3, 4): "NV4"})])
    assert told == ["gpu-00", "gpu-01", "gpu-03", "gpu-04", "gpu-02"]


def test_linked_sets_that_are_in_each_others_way_are_told_so():
    node = a_gpu_node("a", 4, links={(0, 1): "NV4", (0, 2): "NV4", (0, 3): "NV4"})
    told = asked(gpus(2, **ALL), gpus(2, **ALL), nodes=[node])
    assert told.endswith("1 × topology: no NVLink-complete set of 2 gpu beside what else is asked for")
    assert asked(gpus(2, **ALL), gpus(3, **ALL), nodes=[a_gpu_node("a", 5, links=PATH)]).endswith("set of 3 gpu")


def test_linked_sets_leave_the_others_what_only_they_can_use():
    node = a_node(
        "a",
        board=board(
            [Atom(f"g{at}", "gpu", (("big", str(at == 1)),)) for at in range(5)],
            {("g0", "g1"): "NV4", ("g0", "g2"): "NV4", ("g3", "g4"): "NV4"},
        ),
    )
    assert asked(gpus(1, "big = True"), gpus(2, **ALL), gpus(2, **ALL), nodes=[node]) == ["g1", "g0", "g2", "g3", "g4"]


@pytest.mark.req("P96")
def test_one_card_is_never_refused_for_its_links():
    assert asked(gpus(1, topology="nvlink-all"), nodes=[a_gpu_node("a", 2, links="?")]) == ["gpu-00"]


@pytest.mark.req("P97", "P99")
def test_what_is_not_known_stays_so_and_completes_nothing():
    links = dict.fromkeys(combinations(range(3), 2), "NV4") | {(1, 2): "?"}
    node = a_gpu_node("a", 3, links=links)
    assert asked(gpus(2, topology="nvlink-all"), nodes=[node]) == ["gpu-00", "gpu-01"]
    assert "topology: no NVLink-complete set of 3 gpu" in asked(gpus(3, topology="nvlink-all"), nodes=[node])


def score_of(ask, node):
    done = plan(a_request(devices=(ask,)), a_fleet(node), PoolPolicy(tiers=(LOCAL,), ranking=TOPOLOGY))
    return done.ranked[0].key[0] / SCALE / 1000


TOPOLOGY = WEIGHTED._replace(levels=((("topology", 1000),),))


@pytest.mark.req("P98", "PA15", "PA16", "PD9")
def test_the_topology_score_follows_the_worst_link_and_is_neutral_without_one():
    words = ("NV4", "PIX", "PXB", "PHB", "NODE", "SYS", "?")
    told = [round(score_of(gpus(2), a_gpu_node("a", 2, links=word)), 3) for word in words]
    assert told == [1, 0.8, 0.6, 0.4, 0.2, 0, 0.5]
    assert score_of(gpus(1), a_gpu_node("a", 2, links="SYS")) == 0.5
    partly = dict.fromkeys(combinations(range(3), 2), "NV4") | {(0, 1): "?"}
    assert score_of(gpus(3), a_gpu_node("a", 3, links=partly)) == 0.5


def test_eight_linked_cards_of_eight_score_two_and_a_quarter():
    policy = PoolPolicy(tiers=(LOCAL,), ranking=WEIGHTED)
    done = plan(a_request(devices=(gpus(8),), ask=Amounts()), a_fleet(a_gpu_node("a", 8)), policy)
    assert done.ranked[0].key == (2250 * SCALE,)


@pytest.mark.req("P8", "P6")
@pytest.mark.parametrize(
    "ask",
    [
        Ask("gpu", 0),
        Ask("gpu", -1),
        Ask("gpu", 1.5),
        Ask("gpu", True),
        Ask("gpu", 1, 0),
        Ask("gpu", 1, 1001),
        Ask("gpu", 2, 500),
        Ask(""),
    ],
)
def test_a_count_is_a_whole_number_of_at_least_one(ask):
    with pytest.raises(InvalidRequest, match=r"devices\[0\]"):
        a_request(devices=(ask,))


def test_devices_alone_are_something_to_ask_for():
    assert asked(gpus(), ask=Amounts(), nodes=[a_gpu_node("a", 1)]) == ["gpu-00"]


@pytest.mark.req("F204", "F207", "F208")
def test_two_shares_never_overbook_one_card():
    first = holds("a", 0, units=600)
    told = asked(Ask("gpu", 1, 600), nodes=[a_gpu_node("a", 1)], claims=[first])
    assert told == "no node fits (1 nodes): 1 × fits: 0.4 of 0.6 gpu free"
    assert asked(Ask("gpu", 1, 400), nodes=[a_gpu_node("a", 1)], claims=[first]) == ["gpu-00"]


@pytest.mark.req("F209")
def test_one_share_never_straddles_two_cards():
    halves = [holds("a", 0, units=500), holds("a", 1, units=500, allocation="b")]
    assert "0.5 of 0.8 gpu free" in asked(Ask("gpu", 1, 800), nodes=[a_gpu_node("a", 2)], claims=halves)


@pytest.mark.req("F205", "F165")
def test_a_model_restricts_the_cards_of_a_share():
    nodes = [a_gpu_node("a", 1, gpuModel="L4"), a_node("b", board=cards(1, gpuModel="T4", name="t4"))]
    assert asked(Ask("gpu", 1, 500, parse_devices("gpuModel = T4")), nodes=nodes) == ["t4-00"]


@pytest.mark.req("F206", "FA57")
def test_a_share_goes_to_the_fullest_card_that_fits_or_the_emptiest_then_the_first():
    used = [
        holds("a", 1, units=300),
        holds("a", 2, units=600, allocation="b"),
        holds("a", 3, units=300, allocation="c"),
    ]
    node = a_gpu_node("a", 5)
    assert asked(Ask("gpu", 1, 500), nodes=[node], claims=used) == ["gpu-01"]
    assert asked(Ask("gpu", 1, 500), nodes=[node], claims=used, policy=SPREAD) == ["gpu-00"]


def test_a_share_leaves_no_card_for_one_that_wants_it_whole():
    assert asked(gpus(1), nodes=[a_gpu_node("a", 2)], claims=[holds("a", 0, units=1)]) == ["gpu-01"]


def test_one_sick_card_leaves_the_others():
    assert asked(gpus(2), nodes=[a_gpu_node("a", 3, sick=(1,))]) == ["gpu-00", "gpu-02"]


def test_a_selector_that_matches_little_is_told_with_what_there_is_without_it():
    node = a_gpu_node("a", 4, gpuModel="H100")
    told = asked(gpus(2, "gpuModel = H200"), nodes=[node])
    assert told == "no node fits (1 nodes): 1 × fits: 0 of 2 gpu free where gpuModel = H200 (4 of any)"
    told = asked(Ask("gpu", 1, 500, parse_devices("gpumodel = H100")), nodes=[node], claims=[holds("a", 0)])
    assert told == "no node fits (1 nodes): 1 × fits: 0 of 0.5 gpu free where gpumodel = H100 (1 of any)"
    long = asked(gpus(1, f"gpuModel in (x, {'y' * 5000})"), nodes=[node])
    assert len(long) < 300


def test_asks_that_compete_find_their_places():
    """The first could take any card, and the only one that the second can use is left to it."""
    atoms = [Atom("a", "gpu", (("model", "x"),)), Atom("b", "gpu", (("model", "y"),))]
    node = a_node("a", board=board(atoms))
    assert asked(gpus(1), gpus(1, "model = x"), nodes=[node]) == ["b", "a"]
    told = asked(gpus(1, "model = x"), gpus(1, "model = x"), nodes=[node])
    assert told == "no node fits (1 nodes): 1 × fits: 0 of 1 gpu free"


def test_only_the_own_devices_are_taken_and_the_group_has_room():
    node = a_gpu_node("a", 4)
    assert asked(gpus(2), group_devices=(gpus(2),), nodes=[node]) == ["gpu-00", "gpu-01"]
    assert "1 of 2 gpu free" in asked(gpus(2), group_devices=(gpus(2),), nodes=[a_gpu_node("a", 3)])


def test_what_a_claim_books_of_a_card_that_is_gone_counts_nowhere():
    assert asked(gpus(2), nodes=[a_gpu_node("a", 2)], claims=[holds("a", 7)]) == ["gpu-00", "gpu-01"]


@pytest.mark.req("P89", "P90", "P91")
@pytest.mark.parametrize(
    ("links", "numa", "chosen"),
    [
        ({(17, 18): "NV4", (18, 19): "NV4", (17, 19): "NV4"}, (0,) * 20, (17, 18, 19)),
        ({(2, 9): "PIX", (9, 11): "PIX", (2, 11): "PIX", (2, 3): "NV2"}, (0,) * 20, (2, 9, 11)),
        ({}, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 4, 12, 13, 14, 4, 16, 17, 18, 19), (4, 11, 15)),
    ],
)
def test_beyond_sixteen_candidates_a_set_is_grown_from_every_seed(links, numa, chosen):
    """By the worst link to the set; ties stay on the seed's NUMA node."""
    every = dict.fromkeys(combinations(range(20), 2), "SYS") | links
    layout = cards(20, links=every, numa=numa).layout
    assert pick(layout, (1 << 20) - 1, 3) == chosen


def grown(layout, mask, count, limits, seed):
    """One atom at a time, in the plainest way."""
    some = [seed]
    while len(some) < count:
        able = [atom for atom in bits(mask) if atom not in some and within(sum(1 << a for a in (*some, atom)), limits)]
        if not able:
            return None
        nearest = {atom: min(layout.links[atom][other] for other in some) for atom in able}
        some.append(min(able, key=lambda at: (-nearest[at], layout.numa[at] != layout.numa[seed], at)))
    return tuple(sorted(some))


def test_a_set_is_grown_as_the_plainest_way_grows_it():
    draw = Random(7)
    for _ in range(40):
        words = draw.choice((("SYS",), ("NV4", "SYS"), ("NV1", "PIX", "PHB", "?")))
        links = {pair: draw.choice(words) for pair in combinations(range(20), 2)}
        layout = cards(20, links=links, numa=[draw.choice((0, 1, None)) for _ in range(20)]).layout
        mask, count = (1 << 20) - 1 - (1 << draw.randrange(20)), draw.randint(2, 9)
        limits = tuple((draw.getrandbits(20), draw.randint(0, 6)) for _ in range(draw.choice((0, 1, 3))))
        seeds = (grown(layout, mask, count, limits, seed) for seed in bits(mask) if within(1 << seed, limits))
        full = [some for some in seeds if some is not None]
        if full:
            best = min(full, key=lambda some: (-worst_link(layout, some), spread(layout, some), some))
            assert pick(layout, mask, count, limits) == best


def test_many_atoms_are_no_matter_of_minutes():
    layout = cards(512, links="?", numa=[at % 2 for at in range(512)]).layout
    assert pick(layout, (1 << 512) - 1, 200) == tuple(at for at in range(512) if layout.numa[at] == 0)[:200]


@pytest.mark.req("PA14")
def test_up_to_sixteen_candidates_the_pick_is_the_best_of_all_sets():
    """A case where growing one atom at a time ends below the optimum."""
    words = ("SYS", "NODE", "PHB", "PXB", "PIX", "NV1")
    for seed in range(40):
        drawn = {
            pair: words[(seed * 7 + pair[0] * 13 + pair[1] * 31 + pair[0] * pair[1] * (seed + 3)) % 6]
            for pair in combinations(range(8), 2)
        }
        layout = cards(8, links=drawn, numa=(0, 0, 0, 0, 1, 1, 1, 1)).layout
        best = min(combinations(range(8), 4), key=lambda some: (-worst_link(layout, some), spread(layout, some), some))
        assert pick(layout, 255, 4) == best


def test_the_limit_of_the_exact_search_is_sixteen():
    assert EXACT == 16


def test_machines_of_one_type_share_their_tables():
    one, two = cards(8, name="x"), cards(8, name="y")
    assert one != two
    assert one.layout is two.layout
    assert one == cards(8, name="x")


def test_a_claim_on_a_node_without_devices_costs_nothing():
    assert (
        asked(nodes=[a_node("a")], claims=[Claim("c", "a", "default/x.primary.y", Amounts(1), devices=(("g", 1000),))])
        == []
    )
