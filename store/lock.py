"""The lock on a data folder: one server owns it, and says who it is."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store.errors import Owned


@dataclass
class FolderLock:
    """Held until `release`, or until the process ends. The file stays; its content names the last holder, and the store
    that the folder is for. The folder itself is locked too: who removes the file does not let a second server in.
    """

    path: Path
    descriptor: int
    folder: int
    store: str

    def name_store(self, store: str) -> None:
        """From now on a folder whose database is gone is known to have had one."""
        self.store = store
        _write(self.descriptor, {"pid": os.getpid(), "store": store})

    def release(self) -> None:
        os.close(self.descriptor)
        os.close(self.folder)


def lock_folder(folder: Path) -> FolderLock:
    """Take the lock. Raises Owned naming the process that holds it."""
    path = folder / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    whole = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for one in (descriptor, whole):
            fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        held = _read(descriptor).get("pid", "unknown")
        os.close(descriptor)
        os.close(whole)
        raise Owned(f"another server (pid {held}) owns {folder}") from None
    lock = FolderLock(path, descriptor, whole, str(_read(descriptor).get("store", "")))
    lock.name_store(lock.store)
    return lock


def _read(descriptor: int) -> dict[str, Any]:
    try:
        found = json.loads(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _write(descriptor: int, content: dict[str, Any]) -> None:
    text = json.dumps(content).encode()
    os.pwrite(descriptor, text, 0)
    os.ftruncate(descriptor, len(text))
