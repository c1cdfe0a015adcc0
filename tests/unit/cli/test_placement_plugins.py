"""Plugins of the placer as the server's settings name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.placement_plugins import load, scheduling
from cli.settings import Placement
from controllers.placing import policy_of
from placement.ranking import WEIGHTED
from resources.pool import PoolSpec
from resources.validation import Invalid
from tests.builders import a_pool

RACKS = """
from rmctl.plugins import Plugin, Scorer
racks = Plugin(id="racks", scorers=(Scorer("rack-a", lambda request, node: 1, weight=0.5),))
same = racks
"""


def a_file(folder: Path, text: str = RACKS) -> str:
    path = folder / f"plugin{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    return str(path)


def test_a_file_gives_the_plugins_that_stand_in_it(tmp_path: Path) -> None:
    assert [plugin.id for plugin in load([a_file(tmp_path)])] == ["racks"]


@pytest.mark.req("P12", "P102", "P103")
def test_what_the_server_sets_is_part_of_every_pools_policy(tmp_path: Path) -> None:
    sets = scheduling(Placement(plugins=(a_file(tmp_path),), weights={"spread": 0.75}, top_n=2, max_attempts=5))
    policy = policy_of(PoolSpec.model_validate(a_pool(ranking="weighted")), sets)
    assert policy.ranking.levels == ((("packing", 1000), ("topology", 1000), ("spread", 750), ("rack-a", 500)),)
    assert (policy.ranking.top_n, [plugin.id for plugin in policy.plugins], sets.max_attempts) == (2, ["racks"], 5)
    plain = policy_of(PoolSpec.model_validate(a_pool(ranking="weighted")), scheduling(Placement()))
    assert (plain.ranking, plain.ranking.top_n) == (WEIGHTED, 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is no Python file"),
        ("x = 1", "defines no Plugin"),
        ("raise RuntimeError('no')", "RuntimeError: no"),
        ("def x(:", "SyntaxError"),
        (RACKS.replace("rack-a", "packing"), 'a scorer may not be called "packing"'),
        (RACKS.replace("rack-a", "racks"), '"racks" is the id of two of them'),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    name = str(tmp_path / "none.py") if text is None else a_file(tmp_path, text)
    with pytest.raises(Invalid) as refused:
        load([name])
    assert str(refused.value).startswith("settings.placement.plugins")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        ("float('nan')", "nan"),
        ("float('inf')", "inf"),
        ("-1", "-1"),
        ("0", "0"),
        ("0.0001", "0.0001"),
        ("1e300", "1e+300"),
        ("'2'", "'2'"),
        ("None", "None"),
        ("True", "True"),
    ],
)
def test_a_scorer_whose_weight_counts_for_nothing_is_refused_by_its_plugins_name(
    tmp_path: Path, weight: str, said: str
) -> None:
    with pytest.raises(Invalid) as refused:
        load([a_file(tmp_path, RACKS.replace("0.5", weight))])
    assert str(refused.value) == (
        'settings.placement.plugins: plugin "racks": the weight of its scorer "rack-a" must be a number from 0.001 to'
        f" 1000000, not {said}"
    )


def test_a_weight_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(Invalid, match=r'settings.placement.weights: "rack" is not one of resilience, booted'):
        scheduling(Placement(weights={"rack": 1}))
