"""A shim and its job, without an agent: what a program that cannot be run leads to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.files import write_fence
from agent.folder import Folder
from agent.launch import Launched, NotLaunched, launch
from agent.processes import boottime


def start(path: Path, *command: str, fence: Path | None = None) -> tuple[Folder, Launched | NotLaunched]:
    folder = Folder(path / "i-1")
    folder.create({})
    cwd = os.open(path, os.O_RDONLY)
    try:
        return folder, launch(folder, command=command, env={"PATH": os.defpath}, cwd=cwd, grace=1, fence=fence)
    finally:
        os.close(cwd)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("no-such-program",), "no-such-program: No such file or directory"),
        (("/etc/passwd",), "/etc/passwd: Permission denied"),
        (("echo", "x" * 200_000), "echo: Argument list too long"),
        (("echo", "a\0b"), "echo: embedded null byte"),
    ],
)
def test_a_program_that_can_never_run_is_refused_for_good(tmp_path: Path, command: tuple[str, ...], reason: str):
    folder, answer = start(tmp_path, *command)
    assert (answer, folder.held(), folder.job()) == (NotLaunched(reason, final=True), False, None)


def test_an_instance_that_is_held_is_not_started_again(tmp_path: Path):
    folder, first = start(tmp_path, "sleep", "1000")
    assert isinstance(first, Launched)
    try:
        assert start(tmp_path, "touch", "again")[1] == NotLaunched("this instance is being started", final=False)
    finally:
        folder.ask_to_stop("stopped as asked", 0)
        first.shim.terminate()
        first.shim.wait()
    end = folder.exit()
    assert end is not None
    assert (end.signal, end.reason, folder.held(), (tmp_path / "again").exists()) == (
        15,
        "stopped as asked",
        False,
        False,
    )


def test_a_job_that_its_fence_would_end_at_once_is_not_started(tmp_path: Path):
    """An order that lay about until the node was cut off: another node may have the job by now."""
    write_fence(tmp_path / "fence", boottime() - 1)
    folder, answer = start(tmp_path, "touch", "ran", fence=tmp_path / "fence")
    assert (answer, folder.job(), (tmp_path / "ran").exists()) == (
        NotLaunched("touch: cut off from the server", final=False),
        None,
        False,
    )
