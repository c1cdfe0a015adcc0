"""Peers: other libraries that run in an environment of their own, told by a line what to do next.

`RMCTL_PEERS` names the Python of a virtual environment that has them: `pip install huey dbos`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIDES = Path(__file__).with_name("peer_sides.py")


class Peer:
    """`work(...)` returns what it did once it is done."""

    def __init__(self, process: subprocess.Popen[str], version: str) -> None:
        self._process = process
        self.version = version

    def work(self, *amounts: int) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, amounts)) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def peer(name: str, folder: Path) -> Iterator[Peer | str]:
    """The peer with its files in a folder, or why there is none."""
    python = os.environ.get("RMCTL_PEERS")
    if not python:
        yield "RMCTL_PEERS is not set"
        return
    line = [python, "-I", str(SIDES), name, str(folder)]
    process = subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        version = process.stdout.readline().strip()
        yield Peer(process, version) if version else f"it does not start under {python}"
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
