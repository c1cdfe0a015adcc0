"""Control groups that bound the memory of jobs, on folders that look like the kernel's."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from agent import groups
from agent.folder import Folder
from agent.launch import Launched, launch

MIB = 1024 * 1024


def a_machine(folder: Path, *, group: str = "/system.slice/rmctl-agent.service/agent", controllers: str = "cpu memory"):
    """What /proc/self/cgroup says, and the unit's folder below the hierarchy."""
    told = folder / "cgroup"
    told.write_text(f"12:cpu:/\n0::{group}\n")
    unit = folder / "fs" / group.rpartition("/")[0].lstrip("/")
    unit.mkdir(parents=True)
    (unit / "cgroup.controllers").write_text(f"{controllers}\n")
    (unit / "cgroup.subtree_control").write_text("")
    return str(told), str(folder / "fs"), unit


def a_group(root: Path, *, kills: int = 0) -> Path:
    group = root / "job-i-1"
    group.mkdir()
    for name in ("memory.max", "memory.oom.group", "memory.swap.max", "cgroup.procs"):
        (group / name).write_text("")
    (group / "memory.events").write_text(f"low 0\noom 1\noom_kill {kills}\n")
    return group


def test_an_agent_in_a_group_of_its_own_may_make_others_beside_it(tmp_path: Path):
    told, hierarchy, unit = a_machine(tmp_path)
    assert groups.delegated(told, hierarchy) == str(unit)
    assert (unit / "cgroup.subtree_control").read_text() == "+memory"


@pytest.mark.parametrize(
    "machine",
    [{"group": "/system.slice/rmctl-agent.service"}, {"group": "/"}, {"controllers": "cpu"}],
    ids=["an older systemd", "no unit", "no memory controller"],
)
def test_elsewhere_there_are_none(tmp_path: Path, machine: dict[str, str]):
    told, hierarchy, _ = a_machine(tmp_path, **machine)
    assert groups.delegated(told, hierarchy) == ""
    assert groups.delegated(str(tmp_path / "none"), hierarchy) == ""
    assert groups.make("", "i-1", 512) == ""


def test_a_group_is_bounded_by_what_the_job_asks_for(tmp_path: Path):
    group = a_group(tmp_path)
    assert groups.make(str(tmp_path), "i-1", 512) == str(group)
    written = {name: (group / name).read_text() for name in ("memory.max", "memory.oom.group", "memory.swap.max")}
    assert written == {"memory.max": str(512 * MIB), "memory.oom.group": "1", "memory.swap.max": "0"}
    assert groups.make(str(tmp_path), "i-2", 0) == ""


def test_where_the_kernel_gives_none_a_job_runs_without(tmp_path: Path):
    assert groups.make(str(tmp_path), "i-1", 512) == ""
    assert not (tmp_path / "job-i-1").exists()


def test_empty_groups_are_swept(tmp_path: Path):
    (tmp_path / "job-old").mkdir()
    (tmp_path / "agent").mkdir()
    a_group(tmp_path)
    groups.sweep(str(tmp_path))
    groups.sweep("")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "job-i-1"]


@pytest.mark.parametrize(
    ("kills", "number", "reason"),
    [
        (1, signal.SIGKILL, "over its 512 MiB of memory"),
        (0, signal.SIGKILL, ""),
        (1, signal.SIGTERM, ""),
    ],
)
def test_a_job_enters_its_group_and_its_end_says_when_it_took_too_much(
    tmp_path: Path, kills: int, number: signal.Signals, reason: str
):
    group = a_group(tmp_path, kills=kills)
    assert groups.make(str(tmp_path), "i-1", 512) == str(group)
    folder = Folder(tmp_path / "i-1")
    folder.create({})
    cwd = os.open(tmp_path, os.O_RDONLY)
    command = ("sh", "-c", f"kill -{number.value} $$")
    started = launch(folder, command=command, env={"PATH": os.defpath}, cwd=cwd, grace=1, fence=None, group=str(group))
    os.close(cwd)
    assert isinstance(started, Launched)
    started.shim.wait()
    end = folder.exit()
    assert end is not None
    assert ((group / "cgroup.procs").read_text(), end.signal, end.reason) == ("0", number, reason)
