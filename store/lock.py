"""The lock on a data folder: one server owns it, and says who it is."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from store.errors import Refused


@dataclass
class FolderLock:
    """Held until `release`, or until the process ends. The file stays; its content names the last holder."""

    path: Path
    descriptor: int

    def release(self) -> None:
        os.close(self.descriptor)


def lock_folder(folder: Path) -> FolderLock:
    """Take the lock. Raises Refused naming the process that holds it."""
    path = folder / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held = _holder(descriptor)
        os.close(descriptor)
        raise Refused(f"another server (pid {held}) owns {folder}") from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps({"pid": os.getpid()}).encode(), 0)
    return FolderLock(path, descriptor)


def _holder(descriptor: int) -> str:
    try:
        return str(json.loads(os.pread(descriptor, 4096, 0))["pid"])
    except (ValueError, KeyError, TypeError):
        return "unknown"
