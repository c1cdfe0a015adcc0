"""A job's folder holds it in: by words and by links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent import workfolder
from agent.errors import InvalidSpec

NAME = "b.primary.j"


def opened(jobs: Path, working_dir: str) -> str:
    handle = workfolder.open_folder(jobs, NAME, working_dir)
    try:
        return str(Path(f"/proc/self/fd/{handle}").readlink().relative_to(jobs))
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("working_dir", "folder"),
    [(".", NAME), ("", NAME), ("sub", f"{NAME}/sub"), ("./a//b/.", f"{NAME}/a/b"), ("a..b", f"{NAME}/a..b")],
)
def test_a_folder_inside_is_made_and_opened(tmp_path: Path, working_dir: str, folder: str):
    assert (opened(tmp_path, working_dir), opened(tmp_path, working_dir)) == (folder, folder)


@pytest.mark.req("B59")
@pytest.mark.parametrize(
    "working_dir", ["/etc", "..", "../x", "sub/../../base2", f"../{NAME}-evil", "~", "~root", "a\0b", "a/../b"]
)
def test_a_path_that_leads_out_is_refused(tmp_path: Path, working_dir: str):
    with pytest.raises(InvalidSpec, match="workingDir: must stay inside the job directory"):
        opened(tmp_path, working_dir)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("B59")
def test_a_link_that_leads_out_is_not_followed(tmp_path: Path):
    (tmp_path / "jobs" / NAME).mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "jobs" / NAME / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidSpec, match="not a folder inside the job directory"):
        opened(tmp_path / "jobs", "link/x")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_on_the_way_is_refused(tmp_path: Path):
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "file").touch()
    with pytest.raises(InvalidSpec, match="not a folder inside the job directory"):
        opened(tmp_path, "file")


def test_a_folder_that_is_removed_takes_no_link_target_with_it(tmp_path: Path):
    (tmp_path / "jobs" / NAME).mkdir(parents=True)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "jobs" / NAME / "link").symlink_to(tmp_path / "kept")
    workfolder.remove(tmp_path / "jobs", NAME)
    assert (list((tmp_path / "jobs").iterdir()), (tmp_path / "kept" / "file").exists()) == ([], True)
