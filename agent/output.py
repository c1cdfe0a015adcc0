"""A job's output: two files of bounded size, and the last bytes of the two.

Standard library only: the shim runs with nothing else at hand.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from agent.files import PRIVATE_FILE

FILE_BYTES = 256 * 1024
TAIL_BYTES = 64 * 1024


class Writer:
    """What cannot be written is dropped: a full disk stops no job."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "log")
        self._file = self._open()
        self._size = os.fstat(self._file).st_size

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE_FILE)

    def write(self, data: bytes) -> None:
        try:
            if self._size >= FILE_BYTES:
                os.replace(self._path, self._path + ".1")
                os.close(self._file)
                self._file = self._open()
                self._size = 0
            self._size += os.write(self._file, data)
        except OSError:
            return


class Tail(NamedTuple):
    """At most TAIL_BYTES; `truncated`: earlier output is not in it."""

    data: bytes
    truncated: bool


def mark(folder: str | os.PathLike[str]) -> tuple[int, int, int]:
    """Changes whenever something was written; cheap enough to ask every second."""
    try:
        found = os.stat(os.path.join(folder, "log"))
    except FileNotFoundError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def read_tail(folder: str | os.PathLike[str], more_bytes: int = 0) -> Tail:
    """The files may turn over while they are read; then the older part is missing until the next look.

    With `more_bytes` so much longer: what is cut off the front later must be seen first.
    """
    wanted = TAIL_BYTES + more_bytes
    newest, more = _last(os.path.join(folder, "log"), wanted)
    if len(newest) >= wanted:
        return Tail(newest, more or os.path.exists(os.path.join(folder, "log.1")))
    older, earlier = _last(os.path.join(folder, "log.1"), wanted - len(newest))
    return Tail(older + newest, bool(older) or earlier)


def _last(path: str, count: int) -> tuple[bytes, bool]:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - count))
            return file.read(count), size > count
    except FileNotFoundError:
        return b"", False
