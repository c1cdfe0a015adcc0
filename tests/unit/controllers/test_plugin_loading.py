"""Plugins of the placer as they are found, and what keeps one from being used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from controllers.plugins.loading import load, sources
from resources.validation import Invalid

RACKS = """
from rmctl.plugins import Plugin, Scorer
racks = Plugin(id="racks", scorers=(Scorer("rack-a", lambda request, node: 1, weight=0.5),))
same = racks
"""


def a_file(folder: Path, text: str = RACKS) -> str:
    path = folder / f"plugin{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    return str(path)


def an_entry_point(folder: Path, target: str, text: str = RACKS) -> None:
    """As an installed package has it."""
    (folder / "racks_of_ours.py").write_text(text)
    (folder / "racks_of_ours-1.dist-info").mkdir()
    (folder / "racks_of_ours-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: racks-of-ours\nVersion: 1\n"
    )
    (folder / "racks_of_ours-1.dist-info" / "entry_points.txt").write_text(f"[rmctl.placement]\nours = {target}\n")


def refusal(*files: str) -> str:
    with pytest.raises(Invalid) as refused:
        load(sources(files))
    return str(refused.value)


def test_a_file_gives_the_plugins_that_stand_in_it(tmp_path: Path) -> None:
    heard: list[int] = []
    assert [plugin.id for plugin in load(sources([a_file(tmp_path)]), heard.append)] == ["racks"]
    assert heard == [0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is no Python file"),
        ("x = 1", "defines no Plugin"),
        ("raise RuntimeError('no')", "RuntimeError: no"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise ValueError('two\\nlines')", r"ValueError: two\nlines"),
        ("def x(:", "SyntaxError"),
        (RACKS.replace("rack-a", "packing"), 'a scorer may not be called "packing"'),
        (RACKS.replace("rack-a", "racks"), '"racks" is the id of two of them'),
        (RACKS.replace('"racks"', "5"), "the id of a plugin must be a text on one line, not 5"),
        (RACKS.replace('"rack-a"', "None"), 'the scorers of plugin "racks" must be Scorers with an id and a function'),
        (RACKS.replace("scorers=(", "filters=("), 'the filters of plugin "racks" must be functions by name'),
        (RACKS.replace('"racks"', '"racks", pickers={"gpu": 1}'), 'the pickers of plugin "racks" must be functions'),
        (RACKS.replace('"racks"', '"racks", admit=1'), 'admit of plugin "racks" must be a function'),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    told = refusal(str(tmp_path / "none.py") if text is None else a_file(tmp_path, text))
    assert told.startswith("settings.placement.plugins")
    assert said in told


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("racks_of_ours:none", "AttributeError: module 'racks_of_ours' has no attribute 'none'"),
        ("nowhere:racks", "ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, said: str
) -> None:
    an_entry_point(tmp_path, target)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert refusal() == f"settings.placement.plugins: entry point ours: {said}"
    sys.modules.pop("racks_of_ours", None)


def test_an_entry_point_to_what_is_no_plugin_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_entry_point(tmp_path, "racks_of_ours:racks", "racks = 5")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert refusal() == "settings.placement.plugins: entry point ours is no Plugin"
    sys.modules.pop("racks_of_ours", None)


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
    assert refusal(a_file(tmp_path, RACKS.replace("0.5", weight))) == (
        'settings.placement.plugins: plugin "racks": the weight of its scorer "rack-a" must be a number from 0.001 to'
        f" 1000000, not {said}"
    )
