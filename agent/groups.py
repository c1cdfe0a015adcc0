"""Memory of jobs, bounded by control groups of their own where the machine lets the agent make some.

That is so below a systemd unit with `Delegate=yes` and `DelegateSubgroup=agent`: the agent is in `agent`, and beside it
each job that asks for memory gets a group. Standard library only: the shim runs with nothing else at hand.
"""

from __future__ import annotations

import os

OWN = "agent"
"""Name of the group that the agent itself is in."""
HIERARCHY = "/sys/fs/cgroup"
MIB = 1024 * 1024


def delegated(told: str = "/proc/self/cgroup", hierarchy: str = HIERARCHY) -> str:
    """The group below which the agent may make others with a bound on memory; empty where there is none."""
    try:
        with open(told, encoding="ascii") as file:
            path = next((line[3:].strip() for line in file if line.startswith("0::")), "")
        parent, name = os.path.split(path)
        if name != OWN:
            return ""
        root = hierarchy + parent
        with open(os.path.join(root, "cgroup.controllers"), encoding="ascii") as file:
            if "memory" not in file.read().split():
                return ""
        _write(root, "cgroup.subtree_control", "+memory")
    except (OSError, UnicodeDecodeError):
        return ""
    return root


def make(root: str, instance: str, memory_mib: int) -> str:
    """A group for one instance; empty where the kernel gives none, and the instance runs without a bound then."""
    if not root or not memory_mib:
        return ""
    path = os.path.join(root, f"job-{instance}")
    try:
        os.makedirs(path, exist_ok=True)
        _write(path, "memory.oom.group", "1")
        _write(path, "memory.max", str(memory_mib * MIB))
    except OSError:
        remove(path)
        return ""
    if os.path.exists(os.path.join(path, "memory.swap.max")):
        _write(path, "memory.swap.max", "0")
    return path


def enter(path: str) -> None:
    """The calling process, and whatever it starts from here on; it goes on without a bound if the group is gone."""
    try:
        _write(path, "cgroup.procs", "0")
    except OSError:
        return


def exceeded(path: str) -> str:
    """Why the kernel ended what was in the group, or an empty text."""
    try:
        with open(os.path.join(path, "memory.events"), encoding="ascii") as file:
            counts = dict(line.split() for line in file)
        if counts.get("oom_kill", "0") == "0":
            return ""
        with open(os.path.join(path, "memory.max"), encoding="ascii") as file:
            most = int(file.read()) // MIB
    except (OSError, ValueError):
        return ""
    return f"over its {most} MiB of memory"


def sweep(root: str) -> None:
    """Groups that an agent or a shim left empty when it was killed."""
    try:
        names = os.listdir(root) if root else []
    except OSError:
        return
    for name in names:
        if name.startswith("job-"):
            remove(os.path.join(root, name))


def remove(path: str) -> None:
    """Once nothing is in it. A group that something is left in stays."""
    try:
        os.rmdir(path)
    except OSError:
        return


def _write(path: str, name: str, text: str) -> None:
    """The kernel takes the whole text at once or says no."""
    handle = os.open(os.path.join(path, name), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)
