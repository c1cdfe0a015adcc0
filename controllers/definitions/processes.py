"""Runner processes: started apart, known by pid and start time, ended with everything they started."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import structlog

import resources
from controllers.definitions.channel import Broken, Channel
from controllers.definitions.masking import mask
from resources.canonical import Document

log = structlog.get_logger("rmctl.runner")
MODULE = "controllers.definitions.runner"
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "XDG_CONFIG_HOME", "VIRTUAL_ENV")
GRACE_SECONDS = 2.0
SEND_SECONDS = 30.0
"""A process that takes in nothing of what it is told for so long hangs, and is ended."""
TAIL_BYTES = 16 * 1024
WAS_AT = "rmctl: was at "
"""What a runner prints before the place of a pass that is told to end."""
ADVERTISING = ("(Background on this error", "[SQL: ", "[parameters: ")
"""Lines behind an error of the database library that do not say what was wrong."""
PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT


@dataclass(frozen=True)
class Limits:
    """What a runner may take. `memory_bytes` of address space; 0 is no limit."""

    memory_bytes: int = 1024 * 1024 * 1024
    load_seconds: float = 10.0
    grace_seconds: float = GRACE_SECONDS
    pass_on: tuple[str, ...] = field(default=())
    """Variables of the server's environment that definitions see beside the usual ones."""

    @property
    def environment(self) -> dict[str, str]:
        """No more than a definition needs; the packages are found where the server found them."""
        seen = (*KEPT, *self.pass_on)
        found = {key: value for key, value in os.environ.items() if key in seen or key.startswith("LC_")}
        return {**found, "PYTHONPATH": str(Path(resources.__file__).parents[1]), "PYTHONUNBUFFERED": "1"}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that a definition was trusted with, and that nobody else is to read."""
        return tuple(os.environ[name] for name in self.pass_on if name in os.environ)


class Process:
    """One runner of one file as it was hashed. `notes` is where pid and start time are kept while it lives."""

    def __init__(self, path: Path, digest: str, limits: Limits, notes: Path | None, *, module: str = MODULE) -> None:
        self.path = path
        self.digest = digest
        self.deadline = 0.0
        self.interrupted = False
        self._limits = limits
        mine, theirs = socket.socketpair()
        with theirs:
            words = [str(theirs.fileno()), str(limits.memory_bytes), digest, str(path)]
            try:
                self._popen = subprocess.Popen(
                    [sys.executable, "-P", "-m", module, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                    cwd=path.parent,
                    env=limits.environment,
                    start_new_session=True,
                )
            except OSError:
                mine.close()
                raise
        self._mask = mask(limits.secrets)
        self.channel = Channel(mine, secrets=limits.secrets, patience=SEND_SECONDS)
        self._note = None if notes is None else notes / str(self.pid)
        self._tail = bytearray()
        self._draining = threading.Thread(target=self._drain, name=f"runner-{self.pid}-output", daemon=True)
        self._draining.start()
        if self._note is not None:
            self._note.parent.mkdir(mode=0o700, exist_ok=True)
            with suppress(psutil.NoSuchProcess, OSError):
                self._note.write_text(repr(psutil.Process(self.pid).create_time()))

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Seen without a wait: its number stays taken."""
        return self._popen.returncode is None and os.waitid(os.P_PID, self.pid, PEEK) is None

    @property
    def tail(self) -> str:
        """The last of what it printed."""
        return self._mask(bytes(self._tail).decode(errors="replace"))

    def load(self) -> Document:
        """What it says once the file is loaded: `loaded` with its deadline, or `unusable`."""
        try:
            said = self.channel.receive(self._limits.load_seconds)
        except Broken:
            self.end(now=True)
            return {"unusable": f"{self.path}: the process ended while it was loaded{self._last_words()}"}
        if said is None:
            self.end()
            return {"unusable": f"{self.path}: not loaded after {self._limits.load_seconds:g} s"}
        return said

    def end(self, *, now: bool = False) -> None:
        """SIGTERM to its group, then SIGKILL; everything that it started goes with it."""
        if self._popen.returncode is not None:
            return
        if not now:
            self.signal(signal.SIGTERM)
            self._ends_within(self._limits.grace_seconds)
        self.signal(signal.SIGKILL)
        self._popen.wait()
        self.channel.close()
        if self._note is not None:
            self._note.unlink(missing_ok=True)
        self._draining.join(self._limits.grace_seconds)

    def _ends_within(self, seconds: float) -> None:
        """Its number stays taken meanwhile, so that no other process is meant by it."""
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(self.pid)
            try:
                select.select([descriptor], [], [], seconds)
            finally:
                os.close(descriptor)

    def interrupt(self) -> None:
        """Asks it to end, and ends it where it does not; its taker notices."""
        self.interrupted = True
        self.signal(signal.SIGTERM)
        late = threading.Timer(self._limits.grace_seconds, self.signal, [signal.SIGKILL])
        late.daemon = True
        late.start()

    def signal(self, number: signal.Signals) -> None:
        """To its whole group, which may outlive it."""
        if self._popen.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def ended(self) -> str:
        """How it ended, for people; to be asked after `end`."""
        code = self._popen.returncode
        how = f"killed by signal {-code}" if code < 0 else f"exited with {code}"
        return f"the runner was {how}{self._last_words()}" if code < 0 else f"the runner {how}{self._last_words()}"

    def whereabouts(self) -> str:
        """Where its pass was when it was told to end; empty where it did not say."""
        said = [line for line in self.tail.splitlines() if line.startswith(WAS_AT)]
        return f", at {said[-1].removeprefix(WAS_AT)}" if said else ""

    def _last_words(self) -> str:
        lines = [line for line in self.tail.strip().splitlines() if line.strip() and not line.startswith(ADVERTISING)]
        return f": {lines[-1][:200]}" if lines else ""

    def _drain(self) -> None:
        """Whatever it prints is read, and only the last of it kept."""
        assert self._popen.stdout is not None
        with self._popen.stdout as output:
            while some := os.read(output.fileno(), 65536):
                self._tail += some
                del self._tail[:-TAIL_BYTES]


def reap(notes: Path) -> int:
    """End the runners that a dead server left behind; only for the holder of the folder's lock. How many there were."""
    notes.mkdir(mode=0o700, exist_ok=True)
    ended = 0
    for note in sorted(notes.iterdir()):
        with suppress(psutil.Error, OSError, ValueError):
            if psutil.Process(int(note.name)).create_time() == float(note.read_text()):
                os.killpg(int(note.name), signal.SIGKILL)
                log.warning("a runner of an earlier server was ended", pid=int(note.name))
                ended += 1
        note.unlink(missing_ok=True)
    return ended
