"""What a node says it has."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent.errors import SettingsRefused
from agent.inventory import take
from agent.settings import AgentSettings


def settings(tmp_path: Path, **fields: Any) -> AgentSettings:
    return AgentSettings(node="a", server="unix:/s", data=tmp_path, **fields)


def test_a_machine_is_what_it_is_unless_told_otherwise(tmp_path: Path):
    taken = take(settings(tmp_path))
    cpus = len(os.sched_getaffinity(0))
    assert (taken.capacity_milli, taken.cores, taken.memory_mib > 0) == (cpus * 1000, cpus, True)


@pytest.mark.parametrize(("capacity", "milli", "cores"), [(8, 8000, 8), (2.5, 2500, 2), (0.5, 500, 0)])
def test_a_capacity_may_exceed_the_machine_and_cores_are_its_whole_part(
    tmp_path: Path, capacity: float, milli: int, cores: int
):
    taken = take(settings(tmp_path, capacity=capacity))
    assert (taken.capacity_milli, taken.cores) == (milli, cores)


@pytest.mark.parametrize("capacity", [0, -1, 0.0001])
def test_a_capacity_that_is_none_is_refused(tmp_path: Path, capacity: float):
    with pytest.raises(SettingsRefused, match=r"^--capacity: "):
        take(settings(tmp_path, capacity=capacity))


def test_devices_come_from_a_file(tmp_path: Path):
    path = tmp_path / "devices.json"
    path.write_text(json.dumps([{"id": "gpu0", "class": "gpu", "attributes": {"memoryMiB": 24576}, "links": ["gpu1"]}]))
    [device] = take(settings(tmp_path, devices=path)).devices
    assert (device.id, getattr(device, "class"), dict(device.attributes), list(device.links)) == (
        "gpu0",
        "gpu",
        {"memoryMiB": "24576"},
        ["gpu1"],
    )


@pytest.mark.parametrize("content", ["", "{}x", "{}", '[{"id": "x"}]', '["x"]', "[1]"])
def test_a_devices_file_of_another_shape_is_refused(tmp_path: Path, content: str):
    path = tmp_path / "devices.json"
    path.write_text(content)
    with pytest.raises(SettingsRefused, match="expected a JSON list of objects with id and class"):
        take(settings(tmp_path, devices=path))
