"""From when on silence may be counted: the server's start, and every jump of its wall clock since."""

from __future__ import annotations

from store.environment import Environment

JUMP_SECONDS = 1.0
"""A wall clock that moves this much against the monotonic one between two looks was set, and did not drift."""


class Epoch:
    """What was heard before a jump is no older for it, so a jump starts every clock again, as a new server does."""

    def __init__(self, environment: Environment, started_at: float) -> None:
        self._environment = environment
        self._since = started_at
        self._offset = environment.now() - environment.monotonic()

    def since(self) -> float:
        """Unix seconds."""
        now = self._environment.now()
        offset = now - self._environment.monotonic()
        if abs(offset - self._offset) > JUMP_SECONDS:
            self._since = now
        self._offset = offset
        return self._since
