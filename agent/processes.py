"""What the kernel says about processes: which belong to a job, and whether a pid is still the one that was meant.

Standard library only: the shim runs with nothing else at hand.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple


class Stat(NamedTuple):
    """One process as /proc shows it; `start_time` in clock ticks since boot, which tells a pid from its next owner."""

    state: str
    parent: int
    session: int
    start_time: int


def boottime() -> float:
    """Seconds since boot, suspended time included: a fence must not sleep with the machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def stat(pid: int) -> Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
        return Stat(fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))
    except (OSError, IndexError):
        return None


def start_time(pid: int) -> int | None:
    found = stat(pid)
    return None if found is None else found.start_time


def lives(pid: int, started: int) -> bool:
    """Whether `pid` is the process that began at `started`, and is more than an unreaped entry."""
    found = stat(pid)
    return found is not None and found.start_time == started and found.state not in "ZX"


def marker(instance: str) -> bytes:
    """What every process of an instance has in its environment, unless it wiped it."""
    return f"RM_INSTANCE={instance}".encode()


def carries(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False


def members(mark: bytes, *, session: int | None = None, root: int | None = None) -> list[int]:
    """Living processes of a job: those with its mark, of its session, or descended from `root`, its shim.

    `root` and the caller are never among them.
    """
    everyone = {int(name): found for name in os.listdir("/proc") if name.isdigit() and (found := stat(int(name)))}
    return [
        pid
        for pid, found in everyone.items()
        if found.state not in "ZX"
        and pid not in (root, os.getpid())
        and (found.session == session or carries(pid, mark) or (root is not None and _descends(pid, root, everyone)))
    ]


def _descends(pid: int, root: int, everyone: dict[int, Stat]) -> bool:
    seen: set[int] = set()
    while pid in everyone and pid not in seen:
        seen.add(pid)
        pid = everyone[pid].parent
        if pid == root:
            return True
    return False


def signal_each(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue
