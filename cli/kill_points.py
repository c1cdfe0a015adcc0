"""Places where the server ends itself with SIGKILL when its setting `killAt` names them: for tests from outside."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping

from controllers.runtime.controller import Reader
from controllers.runtime.driver import EffectDriver, Safety
from resources.effect import Answer, EffectRecord, Observation
from store.notes import Answered, EffectDue, Reserved

POINTS = (
    "after-placement",
    "after-intent",
    "before-apply",
    "after-apply",
    "after-receipt",
    "in-schema-migration",
)
BY_NOTE = {Reserved: "after-placement", EffectDue: "after-intent", Answered: "after-receipt"}
"""What a commit has told says which point it is behind."""


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class KillPoint:
    """`NAME` or `NAME:COUNT`, the latter for a visit that is not the first. Empty: none."""

    def __init__(self, text: str, end: Callable[[], None] = _end) -> None:
        self._name, _, count = text.partition(":")
        self._left = int(count or 1)
        self._end = end
        self._lock = threading.Lock()

    def reach(self, name: str) -> None:
        if name != self._name:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._end()

    def told(self, notes: Iterable[object]) -> None:
        """A listener of the store: its writer hands over what it has just committed."""
        for note in notes:
            name = BY_NOTE.get(type(note))
            if name is not None:
                self.reach(name)

    def migrated(self) -> None:
        """A migration has done its work, and nothing of it is committed."""
        self.reach("in-schema-migration")

    def around(self, driver: EffectDriver) -> EffectDriver:
        return Guarded(driver, self)


class Guarded:
    """A driver whose calls pass two of the points."""

    def __init__(self, driver: EffectDriver, point: KillPoint) -> None:
        self._driver = driver
        self._point = point
        self.provider = driver.provider
        self.creates = driver.creates
        self.safe: Mapping[str, Safety] = driver.safe

    def observe(self, effect: EffectRecord, reader: Reader) -> Observation:
        return self._driver.observe(effect, reader)

    def apply(self, effect: EffectRecord) -> Answer:
        self._point.reach("before-apply")
        answer = self._driver.apply(effect)
        self._point.reach("after-apply")
        return answer
