"""The job itself, seen from its shim: forked behind a gate, asked to end, reaped with all that it left behind.

Standard library only: the shim runs with nothing else at hand.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import time
from typing import Any

from agent import groups
from agent.files import replace_json
from agent.processes import boottime, marker, members, signal_each, start_time

PR_SET_PDEATHSIG = 1
DEFAULTS = (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
FAILED_TO_RUN = 127


class Child:
    """`status` is the wait status of the main process once it has ended, `ended` when (wall clock, since boot)."""

    def __init__(self, folder: str, order: dict[str, Any]) -> None:
        self._folder = folder
        self._order = order
        self._mark = marker(order["instance"])
        self.pid = 0
        self.started = 0.0
        self.status: int | None = None
        self.ended = (0.0, 0.0)
        self.reason = ""
        self.kill_at: float | None = None
        self.output, self._output_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.output, False)

    def start(self) -> tuple[int, str] | None:
        """Fork, write the job down, then let it run. None, or (errno, what failed)."""
        gate, gate_end = os.pipe2(os.O_CLOEXEC)
        failure, failure_end = os.pipe2(os.O_CLOEXEC)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(gate_end)
            self._become(gate, failure_end)
        os.close(gate)
        os.close(failure_end)
        os.close(self._output_end)
        self.started = boottime()
        facts = {"pid": self.pid, "start_time": start_time(self.pid), "at": time.time(), "started": self.started}
        replace_json(os.path.join(self._folder, "job.json"), facts)
        os.write(gate_end, b"g")
        os.close(gate_end)
        with os.fdopen(failure, "rb") as pipe:
            words = pipe.read().decode(errors="replace")
        if not words:
            return None
        os.waitpid(self.pid, 0)
        number, _, text = words.partition(" ")
        return int(number), text

    def _become(self, gate: int, failure: int) -> None:
        """In the child, and for good: become the job, or write why not."""
        try:
            os.setsid()
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            for number in DEFAULTS:
                signal.signal(number, signal.SIG_DFL)
            os.umask(self._order["umask"])
            os.fchdir(self._order["cwd"])
            if self._order["group"]:
                groups.enter(self._order["group"])
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            os.dup2(self._output_end, 1)
            os.dup2(self._output_end, 2)
            if os.read(gate, 1) == b"g":  # else the shim died before the job was written down
                command = self._order["command"]
                os.execvpe(command[0], command, self._order["env"])  # noqa: S606
        except OSError as error:
            os.write(failure, f"{error.errno} {error.strerror}".encode())
        except ValueError as error:
            os.write(failure, f"{errno.EINVAL} {error}".encode())
        finally:
            os._exit(FAILED_TO_RUN)

    def stop(self, reason: str, grace: float) -> None:
        """SIGTERM to its process group now, SIGKILL to all after `grace` seconds, which a later call may shorten."""
        kill_at = boottime() + max(0.0, grace)
        if self.kill_at is not None:
            self.kill_at = min(self.kill_at, kill_at)
            return
        self.kill_at = kill_at
        if self.status is None:
            self.reason = reason
            signal_group(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        signal_each([self.pid, *self.others()], signal.SIGKILL)

    def reap(self) -> None:
        """Collect whoever ended; orphans of the job come to its shim."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status
                self.ended = (time.time(), boottime())

    def others(self) -> list[int]:
        """Everybody of the job but its main process, which is here too while it lives in its session."""
        return members(self._mark, session=self.pid, root=os.getpid())


def signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return
