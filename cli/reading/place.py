"""Values with their places: what a reader gives back, and how a field path finds its line and column."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 64
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
LAST_STEP = re.compile(r"(\.[^.\[\]]*|\[\d+\]|^[^.\[\]]+)$")


class Malformed(Exception):
    """Text that is no document: the message, the character it was met at, and the field, as far as known."""

    def __init__(self, message: str, offset: int, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.path = path

    @property
    def text(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Lines:
    """Line and column (both from 1, in characters) of an offset into a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


@dataclass(frozen=True)
class Placed:
    """A value as it was read, with the offset of every field in it: of the key in an object, of the item in a list."""

    value: Any
    offsets: Mapping[str, int] = field(default_factory=dict)
    start: int = 0

    def offset(self, path: str) -> int:
        """Of the field, or of the nearest thing around it that exists."""
        while path and path not in self.offsets:
            path = LAST_STEP.sub("", path) if LAST_STEP.search(path) else ""
        return self.offsets.get(path, self.start)


def step(path: str, part: str | int) -> str:
    """`spec.jobs` and 1 make `spec.jobs[1]`."""
    if isinstance(part, int):
        return f"{path}[{part}]"
    return f"{path}.{part}" if path else part
