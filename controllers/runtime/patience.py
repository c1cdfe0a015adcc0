"""Writes that are not given up: tried again for as long as the store takes nothing, a full disk above all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import structlog

from store.environment import Environment
from store.errors import Failed
from store.store import Store
from store.tx import Tx

T = TypeVar("T")
log = structlog.get_logger("rmctl.store")
AGAIN_SECONDS = 1.0


class Patience:
    """A worker that died of one failed write would be missed for good; one that waits goes on once there is room."""

    def __init__(self, store: Store, environment: Environment) -> None:
        self._store = store
        self._over = environment.signal()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def write(self, fn: Callable[[Tx], T]) -> T:
        """As `Store.write`. Raises Failed only after `stop`."""
        while True:
            try:
                return self._store.write(fn)
            except Failed as failed:
                if self.over:
                    raise
                self.rest(failed)

    def rest(self, failed: Failed) -> None:
        """Until it is worth asking again; no time at all after `stop`."""
        log.warning("the store takes nothing", error=str(failed))
        self._over.wait(AGAIN_SECONDS)

    def stop(self) -> None:
        """From here on a write is tried once more at most."""
        self._over.set()
