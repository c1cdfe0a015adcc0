"""Loaded into the shim of a job: counts its lines until it has told the agent, and ends it at one of them.

Only the first shim that is started with a counter is counted; those that come after it run as they are.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from mmap import mmap
from pathlib import Path
from types import FrameType
from typing import Any

AGENT = str(Path(__file__).resolve().parents[2] / "agent")
SIZE = 16
"""The count, and whether a shim has begun to count."""


class ShimLines:
    """Only in the shim itself: what it forks becomes the job."""

    def __init__(self, shown: mmap, kill_at: int) -> None:
        self._shown = shown
        self._kill_at = kill_at
        self._count = 0
        self._pid = os.getpid()

    def call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(AGENT):
            return None
        if code.co_name == "run":  # the watch begins: the agent knows
            sys.settrace(None)
            self._pid = 0
            return None
        return self._line

    def _line(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line" and os.getpid() == self._pid:
            self._count += 1
            struct.pack_into("q", self._shown, 0, self._count)
            if self._count == self._kill_at:
                os.kill(self._pid, signal.SIGKILL)
        return self._line


def arm(counter: str, kill_at: int) -> None:
    with Path(counter).open("r+b") as file:
        shown = mmap(file.fileno(), SIZE)
    (begun,) = struct.unpack_from("q", shown, 8)
    if not begun:
        struct.pack_into("q", shown, 8, 1)
        sys.settrace(ShimLines(shown, kill_at).call)


def first(counter: str, kill_at: int) -> str:
    """What an agent runs before anything else, so that its shims are counted; 0 only counts."""
    begin = "from agent.shim import main;"
    arming = f"from tests.crash.shim_lines import arm; arm({counter!r}, {kill_at}); {begin}"
    return (
        "import agent.launch as launching\n"
        f"code = launching.CODE.replace({begin!r}, {arming!r})\n"
        "launching.INTERPRETER = tuple(code if word == launching.CODE else word for word in launching.INTERPRETER)\n"
    )
