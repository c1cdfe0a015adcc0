"""Bytes of a manifest: from a file, a directory or standard input, bounded, and never from anywhere else."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cli import messages
from cli.errors import BadManifest, Problem
from cli.terminal import safe

MAX_BYTES = 16 * 1024 * 1024
SUFFIXES = (".json", ".yaml", ".yml")
PIPE_FOLDERS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
BOM = b"\xef\xbb\xbf"
TEXTS = {
    errno.ENOENT: messages.NO_FILE,
    errno.ENOTDIR: messages.NO_FILE,
    errno.ELOOP: "too many levels of symbolic links",
}


class Source(NamedTuple):
    """`name` is how messages call it; the text has no byte order mark."""

    name: str
    text: str

    @property
    def is_json(self) -> bool:
        """By the name, else by the first characters."""
        suffix = os.path.splitext(self.name)[1].lower()  # noqa: PTH122 - pathlib costs more than the whole question
        if suffix in SUFFIXES:
            return suffix == ".json"
        head = self.text.lstrip(" \t\r\n")
        return head[:1] == "[" or (head[:1] == "{" and head[1:].lstrip(" \t\r\n")[:1] in ('"', "}", ""))


def sources(names: list[str], *, recursive: bool = False) -> Iterator[Source]:
    """Every source behind `-f`, a directory's files in name order. Raises BadManifest."""
    for name in names:
        if name == "-":
            yield _decoded("stdin", _bounded_input())
        elif "://" in name.split("/./")[0] and not Path(name).exists():
            raise _bad(name, messages.REMOTE)
        elif Path(name).is_dir():
            yield from _directory(Path(name), recursive)
        else:
            yield _decoded(name, _file(name))


def _directory(folder: Path, recursive: bool) -> Iterator[Source]:
    found = sorted(folder.rglob("*") if recursive else folder.iterdir())
    files = [path for path in found if path.suffix.lower() in SUFFIXES and path.is_file()]
    if not files:
        raise _bad(str(folder), messages.DIRECTORY)
    for path in files:
        yield _decoded(str(path), _file(str(path)))


def _file(name: str) -> bytes:
    """Opened without waiting, so that a FIFO without a writer is an answer and not a hang."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _bad(name, _reason(error)) from None
    except ValueError as error:
        raise _bad(name, messages.UNREADABLE.format(why=error)) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode) and not name.startswith(PIPE_FOLDERS):
            raise _bad(name, messages.FIFO)
        if stat.S_ISSOCK(mode):
            raise _bad(name, messages.SOCKET)
        os.set_blocking(descriptor, True)
        return _bounded(name, descriptor)
    except OSError as error:
        raise _bad(name, _reason(error)) from None
    finally:
        os.close(descriptor)


def _bounded_input() -> bytes:
    try:
        return _bounded("stdin", sys.stdin.fileno()) if sys.stdin is not None else b""
    except (OSError, ValueError):
        return b""


def _bounded(name: str, descriptor: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= MAX_BYTES:
        part = os.read(descriptor, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    raise _bad(name, messages.TOO_LARGE.format(limit=MAX_BYTES, mib=MAX_BYTES // 1024 // 1024))


def _decoded(name: str, data: bytes) -> Source:
    data = data.removeprefix(BOM)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        raise _bad(name, messages.UTF16 if b"\0" in data[:8] else messages.NOT_UTF8.format(at=0))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _bad(name, messages.NOT_UTF8.format(at=error.start)) from None
    if not text.strip():
        raise _bad(name, messages.EMPTY)
    return Source(name, text)


def _reason(error: OSError) -> str:
    return TEXTS.get(error.errno or 0) or messages.UNREADABLE.format(why=(error.strerror or str(error)).lower())


def _bad(name: str, message: str) -> BadManifest:
    return BadManifest([Problem(safe(name), message)])
