"""An environment for tests: real threads, a clock that the test sets, ids that count up."""

from __future__ import annotations

import itertools

from controllers.runtime.environment import Threads


class Clocked(Threads):
    """`time` is unix seconds; nothing moves it but the test."""

    def __init__(self, time: float = 1_000.0) -> None:
        super().__init__()
        self.time = time
        self._count = itertools.count(1)

    def now(self) -> float:
        return self.time

    def token(self) -> str:
        return f"token-{next(self._count)}"

    def uuid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self._count):012d}"
