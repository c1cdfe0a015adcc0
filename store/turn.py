"""The turn: of the tasks that compute, one at a time as long as it is quick."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

PATIENCE_SECONDS = 0.005


class Turn:
    """The interpreter runs one thread at a time anyhow, and every statement gives it away. Threads that take turns of a
    batch each hand it over a thousand times less often, which costs more than the statements themselves.

    A courtesy, no exclusion: whoever has waited too long goes on.
    """

    def __init__(self) -> None:
        self._lock = Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        mine = self._lock.acquire(timeout=PATIENCE_SECONDS)
        try:
            yield
        finally:
            if mine:
                self._lock.release()
