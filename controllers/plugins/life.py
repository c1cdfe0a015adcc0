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
from contextlib import ExitStack, suppress
from typing import IO

import structlog

from controllers.definitions.channel import Broken, Channel
from placement.containment import MOST_TEXT, readable
from resources.canonical import Document

log = structlog.get_logger("rmctl.plugins")
MODULE = "controllers.plugins.child"
OURS = ("PYTHONPATH", "PYTHONUNBUFFERED")
"""Variables for the child alone, not for what it starts."""
GRACE_SECONDS = 1.0
MOST_LINES = 200
"""Of what a child prints, that many go to the log; the rest is read and dropped."""


class Child:
    """Everything but `let_go` is for one thread at a time."""

    def __init__(self, files: Sequence[str], memory_bytes: int) -> None:
        """Raises OSError."""
        self.loaded = False
        with ExitStack() as given, ExitStack() as kept:
            self._end, theirs = socket.socketpair()
            kept.callback(self._end.close)
            given.callback(theirs.close)
            alive, life = os.pipe()
            given.callback(os.close, alive)
            self._life = kept.enter_context(os.fdopen(life, "wb", buffering=0))
            self._mark = os.memfd_create("rmctl-plugins")
            kept.callback(os.close, self._mark)
            self._popen = _started((theirs.fileno(), alive, self._mark), memory_bytes, files)
            self._ended = kept.pop_all()
        self._channel = Channel(self._end)
        output = self._popen.stdout
        assert output is not None
        threading.Thread(target=_told, args=(output,), name="plugins-output", daemon=True).start()

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
        self._ended.close()
        try:
            code = self._popen.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "signal 9 that the kernel has not delivered yet"
        return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _started(given: Sequence[int], memory_bytes: int, files: Sequence[str]) -> subprocess.Popen[bytes]:
    """Packages are found where the server finds them."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", MODULE, *map(str, given), str(memory_bytes), *files],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=given,
        env={**os.environ, **dict.fromkeys(OURS, "1"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )


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
