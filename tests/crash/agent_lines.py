"""Loaded into an agent's process: counts the lines of one StartJob, and ends the process at one of them."""

from __future__ import annotations

import os
import signal
import struct
import sys
import threading
from mmap import mmap
from pathlib import Path
from types import FrameType
from typing import Any

AGENT = str(Path(__file__).resolve().parents[2] / "agent")
COMMANDS = f"{AGENT}/commands.py"


class StartLines:
    """From the moment a command is taken up until its result is ready to be sent; threads of the agent count too."""

    def __init__(self, counter: Path, kill_at: int) -> None:
        counter.write_bytes(bytes(8))
        with counter.open("r+b") as file:
            self._shown = mmap(file.fileno(), 8)
        self._kill_at = kill_at
        self._count = 0
        self._counting = False
        self._turn = threading.Lock()

    def arm(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(AGENT):
            return None
        if code.co_filename == COMMANDS and code.co_name in ("_once", "_result"):
            self._counting = code.co_name == "_once"
        return self._line

    def _line(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line" and self._counting:
            with self._turn:
                self._count += 1
                struct.pack_into("q", self._shown, 0, self._count)
                if self._count == self._kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
        return self._line


def counted(counter: Path) -> int:
    (count,) = struct.unpack("q", counter.read_bytes())
    return int(count)


def first(counter: Path, kill_at: int) -> str:
    """What an agent runs before anything else; 0 only counts."""
    return (
        "from pathlib import Path\nfrom tests.crash.agent_lines import StartLines\n"
        f"StartLines(Path({str(counter)!r}), {kill_at}).arm()\n"
    )
