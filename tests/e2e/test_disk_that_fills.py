"""A server on a disk that is full: it refuses, reads on, ends and starts as one expects, and heals by itself."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

APART = ["unshare", "--map-root-user", "--mount"]


def may_mount() -> bool:
    """In a namespace of its own; some containers forbid even that."""
    probe = [*APART, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.mark.req("B113")
def test_a_server_on_a_full_disk() -> None:
    if not may_mount():
        print("no file system may be mounted here: tests/unit/store/test_full_disk.py limits pages instead")
        return
    with tempfile.TemporaryDirectory(prefix="rmctl-") as folder:
        story = [*APART, sys.executable, "-m", "tests.full_disk", folder]
        told = subprocess.run(story, cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    full = "rmctl: error: (InsufficientStorage) disk full: nothing can be written until space is freed\n"
    file = Path(folder) / "data" / "state.db"
    assert json.loads(told.stdout) == {
        "before": 0,
        "while it is full": [5, full],
        "reads go on": [0, "bundle/before\n"],
        "after": 0,
        "it ends": [0, 0],
        "it does not start": [5, f"rmctl: error: {file}: disk full"],
        "again": 0,
    }
