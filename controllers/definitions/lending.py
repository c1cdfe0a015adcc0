"""Lending: which definitions somebody works on in a terminal of their own, each by its project and its file."""

from __future__ import annotations

import threading
from pathlib import Path

from controllers.definitions.channel import Broken
from controllers.definitions.processes import Limits
from controllers.definitions.workbench import Workbench


class NotLent(Exception):
    """The definition is another's, or another one; says why, in a sentence for people."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Lending:
    """One terminal a definition. Where nobody listens any more it is the server's own again."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._lending = threading.Lock()
        self._lent: dict[tuple[str, Path], Path] = {}

    def lend(self, project: str, path: Path, socket: Path) -> None:
        """From now on passes of this file in this project run behind this socket. Raises NotLent."""
        with self._lending:
            other = self.borrowed(project, path)
            if other is not None:
                other.end()
                raise NotLent(
                    f'{path} is worked on by pid {other.pid}, for project "{project}"',
                    "end that one with Ctrl-C in its terminal; its passes run there",
                )
            with self._lock:
                self._lent[project, path] = socket

    def borrowed(self, project: str, path: Path) -> Workbench | None:
        """The terminal's end for one pass; None for a definition that is nobody's."""
        with self._lock:
            socket = self._lent.get((project, path))
        if socket is None:
            return None
        try:
            return Workbench(socket, self._limits.environment, self._limits.secrets)
        except (OSError, Broken):
            with self._lock:
                if self._lent.get((project, path)) == socket:
                    del self._lent[project, path]
            return None
