"""Index, full plan and plain reading agree on fleets that are made to mislead."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings

from placement import Unschedulable, calendar, place, plan
from placement.sentence import MOST_REASONS
from placement.trace import summary
from tests.placement_adversarial import adversaries
from tests.placement_brute import judge
from tests.property.test_placement import plain
from tests.whole import share


def agree(asked, fleet, world):
    quick, full = place(asked, fleet, world.policy, first=10), plan(asked, fleet, world.policy)
    assert (quick.answer, quick.nodes) == (full.answer, full.nodes)
    assert list(quick.refused.items())[:MOST_REASONS] == list(full.refused.items())[:MOST_REASONS]
    assert summary(quick, world.policy.ranking) == summary(full, world.policy.ranking)
    return full


def read_plainly(asked, full, world):
    refused = full.refused if isinstance(full.answer, Unschedulable) else {}
    assert (plain(full.answer), refused) == judge(world, asked)


@pytest.mark.req("F152", "P51", "P65", "P111", "P131")
@settings(max_examples=share(700), deadline=None)
@given(adversaries)
def test_nobody_is_misled(source):
    """Answer, first ten and every count, as nodes and claims come and go."""
    world = source.pool()
    fleet = world.fleet()
    read_plainly(asked := source.asks_for(), agree(asked, fleet, world), world)
    for _ in range(6):
        for _ in range(source.any(0, 1, 4)):
            source.disturb(fleet)
        agree(asked := source.asks_for(), fleet, world)
    read_plainly(asked, agree(asked, fleet, world), source.world_of(world.policy))


@settings(max_examples=share(300), deadline=None)
@given(adversaries)
def test_a_calendar_that_must_forget_stays_exact(source):
    """Its limits are reached at once."""
    with patch.multiple(calendar, MOST_VERDICTS=8, MOST_CLAIMS=3, FEWEST=1, SPARE_AMOUNTS=-40):
        world = source.pool()
        fleet = world.fleet()
        for _ in range(6):
            agree(source.asks_for(), fleet, world)
            source.disturb(fleet)
