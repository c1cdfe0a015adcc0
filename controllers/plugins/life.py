"""The life of one child: started apart, asked within a deadline, ended with everything it started."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

import structlog

from controllers.definitions.channel import Broken, Channel
from placement.containment import MOST_TEXT, readable
from resources.canonical import Document

log = structlog.get_logger("rmctl.plugins")
MODULE = "controllers.plugins.child"
MOST_LINES = 200
"""Of what a child prints, that many go to the log; the rest is read and dropped."""


class Child:
    """Everything but `let_go` is for one thread at a time."""

    def __init__(self, files: Sequence[str], memory_bytes: int) -> None:
        self.loaded = False
        self._end, theirs = socket.socketpair()
        alive, life = os.pipe()
        self._life = os.fdopen(life, "wb", buffering=0)
        self._mark = os.memfd_create("rmctl-plugins")
        try:
            given = (theirs.fileno(), alive, self._mark)
            self._popen = subprocess.Popen(
                [sys.executable, "-P", "-m", MODULE, *map(str, given), str(memory_bytes), *files],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=given,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        finally:
            theirs.close()
            os.close(alive)
        self._channel = Channel(self._end)
        assert self._popen.stdout is not None
        threading.Thread(target=_told, args=(self._popen.stdout,), name="plugins-output", daemon=True).start()

    @property
    def at(self) -> int:
        """What it has marked last; 0 for nothing."""
        return int.from_bytes(os.pread(self._mark, 4, 0), "big")

    def ask(self, words: bytes, seconds: float) -> Document | None:
        """None when it does not answer in time. Raises Broken."""
        try:
            self._end.settimeout(seconds)
            self._end.sendall(words)
        except TimeoutError:
            return None
        except OSError as error:
            raise Broken(str(error)) from error
        return self._channel.receive(seconds)

    def first_word(self, seconds: float) -> Document | None:
        """What it says once it has loaded, or None for nothing yet. Raises Broken."""
        look = select.poll()
        look.register(self._end, select.POLLIN)
        return self._channel.receive(seconds or 1.0) if look.poll(seconds * 1000) else None

    def let_go(self) -> None:
        """Ends it from any thread: whoever waits for its answer is told that it is gone."""
        self._life.close()

    def end(self) -> str:
        """How it ended, for people."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        code = self._popen.wait()
        self._life.close()
        self._channel.close()
        os.close(self._mark)
        return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _told(output: IO[bytes]) -> None:
    """What it prints goes to the log, as far as that helps anybody."""
    with output:
        for _ in range(MOST_LINES):
            line = output.readline(MOST_TEXT)
            if not line:
                return
            log.info("a plugin printed", text=readable(line.decode(errors="replace").rstrip("\n")))
        log.warning("a plugin prints too much: the rest is dropped", lines=MOST_LINES)
        while output.read(65536):
            pass
