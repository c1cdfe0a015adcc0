"""Files that survive: replaced in one step and synced, or, for the fence, overwritten in place.

Standard library only: the shim runs with nothing else at hand.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
FENCE = struct.Struct("<dd")


def replace(path: str | os.PathLike[str], data: bytes) -> None:
    """A reader, even after a power loss, sees the old file or the new one, whole."""
    path = os.fspath(path)
    handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
    sync_folder(os.path.dirname(path))


def replace_json(path: str | os.PathLike[str], value: object) -> None:
    replace(path, json.dumps(value, separators=(",", ":")).encode())


def sync_folder(path: str | os.PathLike[str]) -> None:
    handle = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The object in the file, or None when there is none to read."""
    try:
        with open(path, "rb") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def write_fence(path: str | os.PathLike[str], deadline: float) -> None:
    """`deadline` in seconds since boot. In place, so that a full disk cannot keep a node's jobs from being renewed."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        os.pwrite(handle, FENCE.pack(deadline, deadline), 0)
    finally:
        os.close(handle)


def read_fence(path: str | os.PathLike[str]) -> float:
    """The deadline, the earlier one when it is being written, and 0 (long past) when there is none to read."""
    try:
        with open(path, "rb") as file:
            return float(min(FENCE.unpack(file.read(FENCE.size))))
    except (OSError, struct.error):
        return 0.0
