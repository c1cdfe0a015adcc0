"""Counting the lines of the core as they are executed, and ending the process at one of them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Container
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CORE = tuple(str(ROOT / part) for part in ("store/", "controllers/", "migrations/", "api/agent_facts.py"))


class Lines:
    """`watch` wraps what a task runs. `kill_at` is the line, counted from 1, that is never executed.

    `spans` are the lines at which the process had written something since the line before: a death at any line of one
    span leaves the same files, unless some were made or cut off. `look_at` calls a function at the given lines.
    """

    def __init__(self, kill_at: int | None = None) -> None:
        self.kill_at = kill_at
        self.count = 0
        self.places: set[tuple[str, int]] = set()
        self.spans: list[int] = []
        self._mine: dict[CodeType, bool] = {}
        self._writes = ""
        self._account = -1
        self._looks: Container[int] = ()
        self._look: Callable[[int], None] = lambda _line: None

    def count_writes(self) -> None:
        """In the process that is watched."""
        self._account = os.open("/proc/self/io", os.O_RDONLY | os.O_CLOEXEC)

    def look_at(self, lines: Container[int], look: Callable[[int], None]) -> None:
        self._looks, self._look = lines, look

    def watch(self, target: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            sys.settrace(self._call)
            target()

        return run

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        mine = self._mine.get(code)
        if mine is None:
            mine = self._mine[code] = code.co_filename.startswith(CORE)
        return self._line if mine else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self.count += 1
            if self._account >= 0:
                self._note(frame)
            elif self.count == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.count in self._looks:
                self._look(self.count)
        return self._line

    def _note(self, frame: FrameType) -> None:
        self.places.add((frame.f_code.co_filename, frame.f_lineno))
        writes = os.pread(self._account, 512, 0).decode().split("syscw:")[1].split()[0]
        if writes != self._writes:
            self._writes = writes
            self.spans.append(self.count)
