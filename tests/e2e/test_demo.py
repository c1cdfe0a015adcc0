"""The demo from end to end: every example gets where its file expects it, and people read what the golden file says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cli.demo_ground import NAME, take

COMMAND = (sys.executable, "-m", "rmctl", "demo", "--once", "--data")
AGE = re.compile(r"(?<=  )\d+[smh] *(?=  \S)")


def demo(folder: Path) -> subprocess.CompletedProcess[str]:
    """One run with a folder of its own."""
    return subprocess.run([*COMMAND, str(folder)], capture_output=True, text=True, check=False)


def steady(text: str, folder: Path) -> str:
    """Without what differs from run to run: process ids, ages, the folder, a port."""
    named = re.sub(r"pid \d+", "pid N", text.replace(str(folder), "FOLDER"))
    named = re.sub(r"(forge ready  http://127.0.0.1:)\d+", r"\1PORT", named)
    return AGE.sub(lambda found: "AGE".ljust(len(found[0])), named)


def test_the_demo_brings_every_example_where_its_file_expects_it(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    ran = demo(tmp_path / "demo")
    assert (ran.returncode, ran.stderr) == (0, "")
    golden("cli/demo-once.txt", steady(ran.stdout, tmp_path / "demo"))


def test_a_second_demo_on_one_machine_says_so_in_one_line(tmp_path: Path) -> None:
    with take(tmp_path / "first"):
        ran = demo(tmp_path / "second")
    both = "both would serve on 127.0.0.11 to 127.0.0.13"
    told = f"rmctl: error: another demo runs on this machine (process {os.getpid()}): {both}"
    hint = "hint: end that one with Ctrl-C first"
    assert (ran.returncode, ran.stdout, ran.stderr.splitlines()) == (1, "", [told, hint])


def test_the_claim_goes_with_its_holder(tmp_path: Path) -> None:
    take(tmp_path / "a").close()
    with take(tmp_path / "b") as again:
        assert again.getsockname() == NAME.encode()
