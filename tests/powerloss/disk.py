"""A disk with a cache: what of a traced run may be on it when the power goes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from random import Random
from typing import Literal

SECTOR = 512
HEADER = struct.Struct("<cIqq")
Fate = Literal["none", "all", "some"]


@dataclass(frozen=True)
class Event:
    """`what` is W write, S sync, T truncate or U unlink; `offset` is the new length of a truncated file."""

    what: str
    path: PurePath
    offset: int
    data: bytes


def events(trace: bytes) -> Iterator[Event]:
    at = 0
    while at < len(trace):
        what, path_length, offset, length = HEADER.unpack_from(trace, at)
        at += HEADER.size
        path = PurePath(trace[at : at + path_length].decode())
        at += path_length
        data = trace[at : at + length] if what == b"W" else b""
        at += len(data)
        yield Event(what.decode(), path, offset, data)


@dataclass
class File:
    """`durable` has reached the disk, `pending` has not been synced since."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Event] = field(default_factory=list)
    named: bool = False
    """Its folder was synced after it was made."""

    def sync(self) -> None:
        for event in self.pending:
            _write(self.durable, event)
        self.pending = []

    def after_loss(self, fate: Fate, random: Random) -> bytes:
        """Sectors of what is pending reach the disk one by one, in the order of their writes or not at all."""
        content = bytearray(self.durable)
        for event in self.pending:
            if fate == "all" or (fate == "some" and event.what == "T" and random.random() < 0.5):
                _write(content, event)
            elif fate == "some" and event.what == "W":
                for start in range(0, len(event.data), SECTOR):
                    if random.random() < 0.5:
                        part = event.data[start : start + SECTOR]
                        _write(content, Event("W", event.path, event.offset + start, part))
        return bytes(content)


class Disk:
    """Follows a trace. Names made or removed are durable once their folder is synced."""

    def __init__(self) -> None:
        self._files: dict[PurePath, File] = {}
        self._removed: dict[PurePath, File] = {}

    def follow(self, event: Event) -> None:
        path = event.path
        match event.what:
            case "W" | "T":
                self._files.setdefault(path, File()).pending.append(event)
            case "S" if path in self._files:
                self._files[path].sync()
            case "S":
                for name, file in self._files.items():
                    file.named = file.named or name.parent == path
                self._removed = {name: file for name, file in self._removed.items() if name.parent != path}
            case "U" if path in self._files:
                self._removed[path] = self._files.pop(path)
            case _:
                pass

    def lose(self, fate: Fate, random: Random, into: Path) -> None:
        """Write what is left into a folder."""
        left = {**self._kept(self._removed, fate, random, undone=True), **self._kept(self._files, fate, random)}
        for path, file in left.items():
            if not path.name.endswith("-shm"):
                (into / path.name).write_bytes(file.after_loss(fate, random))

    @staticmethod
    def _kept(files: dict[PurePath, File], fate: Fate, random: Random, *, undone: bool = False) -> dict[PurePath, File]:
        """Files whose name survives: for sure, or as fate has it."""
        kept = {}
        for path, file in files.items():
            happens = fate == "all" or (fate == "some" and random.random() < 0.5)
            if (file.named and not undone) or (undone and file.named and not happens) or (not undone and happens):
                kept[path] = file
        return kept


def _write(content: bytearray, event: Event) -> None:
    if event.what == "T":
        del content[event.offset :]
        content.extend(bytes(event.offset - len(content)))
    else:
        content.extend(bytes(max(event.offset - len(content), 0)))
        content[event.offset : event.offset + len(event.data)] = event.data
