"""What the server's settings say of placement, as every pool has it."""

from __future__ import annotations

import pytest

from cli.placement_plugins import scheduling
from cli.settings import Placement
from controllers.placing import policy_of
from placement.plugins import Plugin, Scorer
from placement.ranking import WEIGHTED
from resources.pool import PoolSpec
from resources.validation import Invalid
from tests.builders import a_pool

RACKS = Plugin("racks", scorers=(Scorer("rack-a", lambda request, node: 1, weight=0.5),))


@pytest.mark.req("P12", "P102", "P103")
def test_what_the_server_sets_is_part_of_every_pools_policy() -> None:
    sets = scheduling(Placement(weights={"spread": 0.75}, top_n=2, max_attempts=5), [RACKS])
    policy = policy_of(PoolSpec.model_validate(a_pool(ranking="weighted")), sets)
    assert policy.ranking.levels == ((("packing", 1000), ("topology", 1000), ("spread", 750), ("rack-a", 500)),)
    assert (policy.ranking.top_n, [plugin.id for plugin in policy.plugins], sets.max_attempts) == (2, ["racks"], 5)
    plain = policy_of(PoolSpec.model_validate(a_pool(ranking="weighted")), scheduling(Placement()))
    assert (plain.ranking, plain.ranking.top_n) == (WEIGHTED, 5)


def test_a_weight_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(Invalid, match=r'settings.placement.weights: "rack" is not one of resilience, booted'):
        scheduling(Placement(weights={"rack": 1}))
