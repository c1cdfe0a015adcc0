"""The parent of one job: it outlives the agent, keeps the job's output and fence, and writes down how the job ended.

Started by agent/launch.py with the order as JSON on standard input; the standard library is all it has. The descriptor
`order["lock"]` is an flock held for as long as this process lives, `order["cwd"]` the open working folder. Files:

    shim.json   this process: pid, start time, boot id           before the job is forked
    job.json    the job: pid, start time, when it was started    before the job runs its first instruction
    stop.json   read: somebody wants the job to end, with grace and reason; SIGTERM says that it is there
    exit.json   how the job ended, once nothing of it is left
    log, log.1  its output, the newest in `log`
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import selectors
import signal
import sys
from contextlib import suppress
from typing import Any

from agent import groups
from agent.child import Child
from agent.endings import FENCED
from agent.files import read_fence, read_json, replace_json
from agent.output import Writer
from agent.processes import boot_id, boottime, signal_each, start_time

STRAY_GRACE_SECONDS = 2.0
FENCE_GRACE_SECONDS = 10.0
SCAN_SECONDS = 0.05
PR_SET_CHILD_SUBREAPER = 36
CHUNK = 64 * 1024
FINAL = frozenset(
    {errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.E2BIG, errno.ENOTDIR, errno.ELOOP}
    | {errno.ENAMETOOLONG, errno.EINVAL, errno.EISDIR}
)
"""Another try of the same program fails the same way."""


def main(folder: str) -> int:
    try:
        order = json.loads(sys.stdin.buffer.read())
    except ValueError:
        return 1  # the agent died while it wrote the order
    for handle in (order["lock"], order["cwd"]):
        fcntl.fcntl(handle, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake = _signals()
    me = os.getpid()
    replace_json(os.path.join(folder, "shim.json"), {"pid": me, "start_time": start_time(me), "boot_id": boot_id()})
    if order["fence"] is not None and boottime() >= read_fence(order["fence"]):
        _tell({"errno": errno.EHOSTUNREACH, "final": False, "error": "cut off from the server"})
        return 1
    child = Child(folder, order)
    failure = child.start()
    if failure is not None:
        os.unlink(os.path.join(folder, "job.json"))
        groups.remove(order["group"])
        _tell({"errno": failure[0], "final": failure[0] in FINAL, "error": failure[1]})
        return 1
    _tell({"pid": child.pid})
    Watch(folder, order, child, wake).run()
    replace_json(os.path.join(folder, "exit.json"), _ending(child, order["group"]))
    groups.remove(order["group"])
    return 0


def _signals() -> int:
    """A descriptor that can be read after SIGTERM and SIGCHLD."""
    wake, wake_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return wake


def _tell(value: object) -> None:
    """One line to the agent, if it still listens; then nobody holds its end of the pipe open."""
    with suppress(OSError):
        os.write(1, json.dumps(value).encode() + b"\n")
    os.dup2(os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC), 1)


def _ending(child: Child, group: str) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(child.status or 0)
    reason = child.reason or (groups.exceeded(group) if group and code == -signal.SIGKILL else "")
    return {
        "code": code if code >= 0 else None,
        "signal": -code if code < 0 else None,
        "at": child.ended[0],
        "ran_seconds": child.ended[1] - child.started,
        "reason": reason,
    }


class Watch:
    """Waits for the job to end, and ends it when a stop or the fence says so."""

    def __init__(self, folder: str, order: dict[str, Any], child: Child, wake: int) -> None:
        self._stop_file = os.path.join(folder, "stop.json")
        self._grace: float = order["grace"]
        self._fence: str | None = order["fence"]
        self._fence_at = read_fence(self._fence) if self._fence else None
        self._strays_at: float | None = None
        self._child = child
        self._log = Writer(folder)
        self._wake = wake
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake, selectors.EVENT_READ)
        self._selector.register(child.output, selectors.EVENT_READ)

    def run(self) -> None:
        """Until nothing of the job is left."""
        self._look()
        while not self._over():
            for key, _ in self._selector.select(self._patience()):
                if key.fd == self._wake:
                    os.read(self._wake, 4096)
                    self._look()
                else:
                    self._drain(16)
            self._child.reap()
            self._check()
        self._drain(4096)

    def _over(self) -> bool:
        if self._child.status is None:
            return False
        left = self._child.others()
        now = boottime()
        if self._strays_at is None:
            signal_each(left, signal.SIGTERM)
            limit = now + STRAY_GRACE_SECONDS
            self._strays_at = limit if self._child.kill_at is None else min(limit, self._child.kill_at)
        if now >= self._strays_at:
            signal_each(left, signal.SIGKILL)
        return not left

    def _patience(self) -> float | None:
        """Seconds until something is due; None when only an event can bring news."""
        if self._child.status is not None:
            return SCAN_SECONDS
        due = [at for at in (self._child.kill_at, self._fence_at) if at is not None]
        return max(0.0, min(due) - boottime()) if due else None

    def _check(self) -> None:
        now = boottime()
        if self._fence is not None and self._fence_at is not None and now >= self._fence_at:
            self._fence_at = read_fence(self._fence)
            if now >= self._fence_at:
                self._fence_at = None
                self._child.stop(FENCED, min(FENCE_GRACE_SECONDS, self._grace))
        if self._child.status is None and self._child.kill_at is not None and now >= self._child.kill_at:
            self._child.kill()
            self._child.kill_at = now + SCAN_SECONDS

    def _look(self) -> None:
        wanted = read_json(self._stop_file)
        if wanted is not None:
            self._child.stop(wanted["reason"], wanted["grace"])

    def _drain(self, chunks: int) -> None:
        for _ in range(chunks):
            try:
                data = os.read(self._child.output, CHUNK)
            except BlockingIOError:
                return
            if not data:
                if self._child.output in self._selector.get_map():
                    self._selector.unregister(self._child.output)
                return
            self._log.write(data)
