"""What the core takes from the world by parameter: clocks, randomness, ids, tasks and their signals."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol


class Signal(Protocol):
    """An event that tasks wait for."""

    def set(self) -> None: ...
    def clear(self) -> None: ...
    def is_set(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> bool:
        """Seconds; True when it was set."""
        ...


class Task(Protocol):
    def join(self, timeout: float | None = None) -> None: ...


class Environment(Protocol):
    """Threads and real clocks in production, greenlets and a virtual clock in simulation."""

    def now(self) -> float:
        """Unix seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    def signal(self) -> Signal: ...
    def spawn(self, name: str, target: Callable[[], None]) -> Task: ...
    def random(self) -> Random:
        """A generator of the calling task."""
        ...

    def token(self) -> str:
        """256 unguessable bits as text."""
        ...

    def uuid(self) -> str: ...
    def in_transaction(self) -> bool: ...
    def enter_transaction(self) -> None:
        """From here on waiting or switching is an error in simulation."""
        ...

    def leave_transaction(self) -> None: ...
