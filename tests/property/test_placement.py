"""Laws of the placer, over random fleets from small domains."""

import pytest
from hypothesis import given, settings

from placement import Placed, Provision, Unschedulable, plan
from placement.bookings import devices_on
from placement.explain import Summary, sentence, summary, trace, would_fit
from placement.filters import FILTERS
from placement.fullness import SCALE
from placement.levels import CRITERIA
from placement.scene import scene_of
from placement.within import parts
from tests.placement_brute import judge
from tests.placement_random import World, sources

thorough = settings(max_examples=1500, deadline=None)


def plain(answer):
    match answer:
        case Placed(node=node, tier=tier, violated=violated, devices=devices, inside=inside):
            kept = None if inside is None else (inside.reservation, inside.end)
            return ("placed", node, tier, violated, tuple((atom.id, atom.units) for atom in devices), kept)
        case Provision(tier=tier, shape=shape, zones=zones, violated=violated):
            return ("machine", tier, shape.instance_type, zones, violated)
        case Unschedulable(reason=reason):
            return ("no", reason)


@pytest.mark.req("F152", "F169", "F180")
@thorough
@given(sources)
def test_the_plan_is_the_one_of_the_plain_reading(source):
    world, request_ = source.world(), source.request()
    done = plan(request_, world.fleet(), world.policy)
    refused = done.refused if isinstance(done.answer, Unschedulable) else {}
    assert (plain(done.answer), refused) == judge(world, request_)


@pytest.mark.req("P19")
@given(sources)
def test_a_plan_changes_nothing_and_comes_out_the_same_again(source):
    world, request_ = source.world(), source.request()
    fleet = world.fleet()
    revision = fleet.revision
    first = plan(request_, fleet, world.policy, seed=7)
    assert (fleet, fleet.revision) == (world.fleet(), revision)
    assert plan(request_, fleet, world.policy, seed=7) == first


def seen_by(request_, fleet, answer):
    """The node over the request's window, or what its reservation holds of it."""
    if answer.inside is None:
        return fleet.node(answer.node).over(request_)
    return next(p.node for p in parts(request_, fleet) if p.inside == answer.inside and p.node.name == answer.node)


@pytest.mark.req("P24")
@given(sources)
def test_a_placed_node_breaks_no_filter(source):
    world, request_ = source.world(), source.request()
    fleet = world.fleet()
    answer = plan(request_, fleet, world.policy).answer
    if isinstance(answer, Placed):
        tier = next(tier for tier in world.policy.tiers if tier.name == answer.tier)
        node, scene = seen_by(request_, fleet, answer), scene_of(request_, fleet, tier)
        broken = [name for name, rule in FILTERS if rule(request_, node, scene) is not None]
        assert broken in ([], ["excluded"] if answer.node in request_.second_chance else [])


@pytest.mark.req("P10")
@given(sources)
def test_the_order_of_writes_is_irrelevant(source):
    world, request_, random = source.world(), source.request(), source.random
    nodes, taken = list(world.nodes), list(world.claims)
    random.shuffle(nodes)
    random.shuffle(taken)
    shuffled = World(tuple(nodes), tuple(taken), world.policy).fleet()
    assert plan(request_, shuffled, world.policy) == plan(request_, world.fleet(), world.policy)


@given(sources)
def test_one_more_node_never_takes_a_place_away(source):
    world, request_, extra = source.world(), source.request(), source.node()
    fleet = world.fleet()
    before = plan(request_, fleet, world.policy)
    capped = any(tier.elastic and tier.max_nodes is not None for tier in world.policy.tiers)
    peers = request_.peers | request_.together
    known = fleet.node(extra.name) is not None or any(c.node == extra.name and c.owner in peers for c in world.claims)
    fleet.put_node(extra)
    if not (known or (capped and isinstance(before.answer, Provision)) or isinstance(before.answer, Unschedulable)):
        assert not isinstance(plan(request_, fleet, world.policy).answer, Unschedulable)


@pytest.mark.req("P23")
@given(sources)
def test_a_refusal_accounts_for_every_node_once(source):
    world, request_ = source.world(), source.request()
    fleet = world.fleet()
    done = plan(request_, fleet, world.policy)
    if isinstance(done.answer, Unschedulable) and not world.policy.archived:
        assert [rejection.node for rejection in done.rejections] == [node.name for node in fleet.pool("main")]


@pytest.mark.req("F153")
@settings(max_examples=500, deadline=None)
@given(sources)
def test_a_trace_tells_of_every_node_what_the_plan_says(source):
    world, request_ = source.world(), source.request()
    fleet = world.fleet()
    done, told = plan(request_, fleet, world.policy), trace(request_, fleet, world.policy)
    if world.policy.archived:
        return
    first = {node.node: node.refusals[0] for node in told.nodes if node.refusals}
    assert first == {rejection.node: rejection.text for rejection in done.rejections}
    ranked = [node.node for node in told.nodes if node.verdict in ("chosen", "kept")]
    assert ranked == [entry.node for entry in done.ranked]
    assert sorted(node.node for node in told.nodes) == [node.name for node in fleet.pool("main")]
    assert told.sentence == sentence(done)


@given(sources)
def test_a_summary_comes_back_from_plain_data(source):
    world, request_ = source.world(), source.request()
    short = summary(plan(request_, world.fleet(), world.policy), world.policy.ranking)
    assert Summary.from_dict(short.to_dict()) == short


@settings(max_examples=300, deadline=None)
@given(sources)
def test_what_would_help_is_at_most_five_things_and_nothing_if_there_is_a_place(source):
    world, request_ = source.world(), source.request()
    found = would_fit(request_, world.fleet(), world.policy)
    refused = isinstance(plan(request_, world.fleet(), world.policy).answer, Unschedulable)
    assert len(found) <= (5 if refused else 0)


def replayed(fleet, story):
    """What is left after the story, kept in two plain dictionaries."""
    nodes, taken = {}, {}
    for verb, value in story:
        getattr(fleet, verb)(value)
        match verb:
            case "put_node":
                nodes[value.name] = value
            case "remove_node":
                nodes.pop(value, None)
            case "put_claim":
                taken[value.allocation] = value
            case "drop_claim":
                taken.pop(value, None)
    return tuple(nodes.values()), tuple(taken.values())


@given(sources)
def test_a_view_after_any_writes_is_the_view_rebuilt(source):
    world, request_ = source.world(), source.request()
    story = [source.write() for _ in range(30)]
    fleet = World((), (), world.policy).fleet()
    nodes, taken = replayed(fleet, story)
    rebuilt = World(nodes, taken, world.policy).fleet()
    assert fleet == rebuilt
    assert plan(request_, fleet, world.policy) == plan(request_, rebuilt, world.policy)


@given(sources)
def test_a_copy_shares_no_later_write(source):
    world = source.world()
    fleet = world.fleet()
    twin = fleet.copy()
    for _ in range(5):
        twin.put_claim(source.claim())
    for node in world.nodes:
        twin.remove_node(node.name)
    for node in world.nodes:
        fleet.put_node(node)
    assert fleet == world.fleet()


@pytest.mark.req("P100")
@given(sources)
def test_a_criterion_measures_from_nothing_to_the_whole(source):
    world, request_ = source.world(), source.request()
    fleet = world.fleet()
    for tier in world.policy.tiers:
        scene = scene_of(request_, fleet, tier)
        nodes = [node.over(request_) for node in fleet.pool("main")]
        roomy = [node for node in nodes if node.free.covers(request_.asked)]
        roomy = [node for node in roomy if not devices_on(request_, node, binpack=True).filter]
        measured = [rule(request_, node, scene) for node in roomy for rule in CRITERIA.values()]
        assert all(0 <= value <= SCALE for value in measured)
