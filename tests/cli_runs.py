"""What came of a call of rmctl."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Rmctl = Callable[..., Ran]
