"""What the files of an instance say about it when its agent begins anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent.adoption import look
from agent.files import replace_json
from agent.folder import Folder
from agent.processes import boot_id, start_time
from resources.facts import Instance
from tests.unit.agent.orders import an_order

GONE = 2**22 - 3
"""A pid that no process has: above what the kernel gives out by default."""


def a_folder(path: Path, **files: Any) -> Folder:
    folder = Folder(path / "u1-1-1")
    folder.create(an_order(ports=("8101/tcp",)).to_document())
    for name, content in files.items():
        replace_json(folder.path / f"{name}.json", content)
    return folder


def seen(folder: Folder) -> Instance | None:
    found = look(folder, "node-a")
    return None if found is None else found.facts


SHIM = {"pid": GONE, "start_time": 1, "boot_id": boot_id()}
JOB = {"pid": GONE, "start_time": 1, "at": 100.0, "started": 1.0}
EXIT = {"code": 3, "signal": None, "at": 107.5, "ran_seconds": 7.5, "reason": ""}


def test_a_folder_without_an_order_is_nothing(tmp_path: Path):
    folder = Folder(tmp_path / "u1-1-1")
    folder.path.mkdir()
    assert seen(folder) is None


def test_a_start_that_was_never_carried_out_is_nothing(tmp_path: Path):
    assert seen(a_folder(tmp_path)) is None


def test_a_shim_that_died_before_its_job_ran_is_nothing(tmp_path: Path):
    assert seen(a_folder(tmp_path, shim=SHIM)) is None


def test_an_end_that_was_written_is_told_with_its_own_time(tmp_path: Path):
    facts = seen(a_folder(tmp_path, shim=SHIM, job=JOB, exit=EXIT, ready={"at": 101.0}))
    assert facts is not None
    assert (facts.state, facts.code, facts.at, facts.ran_seconds, facts.ready_at) == ("exited", 3, 107.5, 7.5, 101.0)
    assert (facts.uid, facts.id, facts.job, facts.attempt, facts.ports, facts.pid) == (
        "u1",
        "u1-1-1",
        "ch-1.primary.encode",
        1,
        ("8101/tcp",),
        GONE,
    )


def test_after_a_reboot_the_job_ended_with_the_machine(tmp_path: Path):
    facts = seen(a_folder(tmp_path, shim=SHIM | {"boot_id": "another"}, job=JOB))
    assert facts is not None
    assert (facts.state, facts.code, facts.signal, facts.reason) == ("exited", None, None, "node restarted")


def test_a_pid_that_another_process_has_now_is_left_alone(tmp_path: Path):
    """The pid of this very test, which began at another time than the job did."""
    mine = {"pid": os.getpid(), "start_time": (start_time(os.getpid()) or 0) - 1, "at": 100.0, "started": 1.0}
    facts = seen(a_folder(tmp_path, shim=SHIM, job=mine))
    assert facts is not None
    assert (facts.state, facts.reason) == ("exited", "its shim was killed")


def test_an_end_found_once_is_the_same_when_it_is_looked_for_again(tmp_path: Path):
    folder = a_folder(tmp_path, shim=SHIM, job=JOB)
    assert seen(folder) == seen(folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_file_that_cannot_be_read_counts_as_missing(tmp_path: Path, content: bytes):
    folder = a_folder(tmp_path, shim=SHIM, job=JOB)
    (folder.path / "exit.json").write_bytes(content)
    facts = seen(folder)
    assert facts is not None
    assert facts.reason == "its shim was killed"
