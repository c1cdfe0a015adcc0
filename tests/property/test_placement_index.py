"""The index gives what the full plan gives, whatever was written in between."""

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings

from placement import WEIGHTED, Unschedulable, index, place, plan, shelf, sorted_names
from placement.sentence import MOST_REASONS
from placement.sorted_names import SortedNames
from placement.trace import summary
from tests.placement_random import NAMES, Source, sources
from tests.whole import share


def first_ten(found):
    return found.ranked[:10] if not isinstance(found.answer, Unschedulable) else ()


def answers(found):
    """The reasons in the order in which they are told, the first of them."""
    counted = list(found.refused.items())[:MOST_REASONS] if isinstance(found.answer, Unschedulable) else []
    return found.answer, found.nodes, counted


@pytest.mark.req("F152", "P51", "P111")
@settings(max_examples=share(1500), deadline=None)
@given(sources)
@example(Source(128_093_521_654))
def test_the_quick_plan_is_the_full_plan(source):
    """One view, many writes and many requests: every answer, and every count of a no.

    The example has a place within a reservation, on a node that is full otherwise.
    """
    world = source.world()
    fleet = world.fleet()
    for _ in range(12):
        request_ = source.request()
        policy = source.any(world.policy, world.policy, source.policy())
        quick, full = place(request_, fleet, policy, first=source.any(0, 10)), plan(request_, fleet, policy)
        assert answers(quick) == answers(full)
        if quick.ranked:
            assert summary(quick, policy.ranking) == summary(full, policy.ranking)
        for _ in range(source.any(0, 1, 3)):
            verb, value = source.write()
            getattr(fleet, verb)(value)


@settings(max_examples=share(500), deadline=None)
@given(sources)
def test_the_first_ten_are_those_of_the_full_plan(source):
    world, request_ = source.world(), source.request()
    fleet = world.fleet()
    quick, full = place(request_, fleet, world.policy, first=10), plan(request_, fleet, world.policy)
    assert first_ten(quick) == first_ten(full)
    assert summary(quick, world.policy.ranking) == summary(full, world.policy.ranking)


@settings(max_examples=share(300), deadline=None)
@given(sources)
def test_a_draw_falls_on_the_same_node(source):
    world = source.world()
    policy = source.policy()
    policy = type(policy)(tiers=policy.tiers, ranking=WEIGHTED._replace(top_n=3), provisioning=policy.provisioning)
    fleet, request_ = world.fleet(), source.request()
    for seed in range(5):
        assert place(request_, fleet, policy, seed=seed).answer == plan(request_, fleet, policy, seed=seed).answer


@settings(max_examples=200, deadline=None)
@given(sources)
def test_an_index_that_must_forget_stays_exact(source):
    """Its limits are reached at once: few shelves and orders are kept, and every port gets a shelf."""
    with patch.multiple(index, MOST_SHELVES=2, MOST_CLASSES=-40, PATIENCE=0), patch.object(shelf, "MOST_ORDERS", 1):
        world = source.world()
        fleet = world.fleet()
        for _ in range(20):
            request_ = source.request()
            assert answers(place(request_, fleet, world.policy)) == answers(plan(request_, fleet, world.policy))
            verb, value = source.write()
            getattr(fleet, verb)(value)


@given(sources)
def test_asking_changes_no_view(source):
    world = source.world()
    fleet = world.fleet()
    revision = fleet.revision
    place(source.request(), fleet, world.policy)
    assert (fleet, fleet.revision) == (world.fleet(), revision)


@given(sources)
def test_names_stay_sorted(source):
    with patch.object(sorted_names, "RUN", 2):
        names, model = SortedNames(NAMES[:3]), set(NAMES[:3])
        for _ in range(60):
            name = source.any(*NAMES)
            (names.remove if name in model else names.add)(name)
            model ^= {name}
            assert (list(names), len(names), bool(names)) == (sorted(model), len(model), bool(model))


VARIED = (
    "exclusive forbid images labels override_reservation peers role same_zone spare template tenant excluded separate "
    "devices start end at_once holders"
).split()


@settings(max_examples=share(500), deadline=None)
@given(sources)
def test_what_was_worked_out_for_one_request_serves_no_other(source):
    """Requests that differ in one field at a time, on a view that stays as it is."""
    world, asked = source.world(), source.request()
    fleet = world.fleet()
    for _ in range(25):
        field = source.any(*VARIED)
        other = replace(asked, **{field: getattr(source.request(), field)})
        for request_ in (other, asked):
            assert answers(place(request_, fleet, world.policy)) == answers(plan(request_, fleet, world.policy))
