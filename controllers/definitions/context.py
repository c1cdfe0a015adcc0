"""The context of a pass: `ctx`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Literal, Protocol

from controllers.definitions import results
from controllers.definitions.children import Workflows
from controllers.definitions.touching import Ask, Effects, Promises
from resources.canonical import Document
from resources.names import TYPE


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds."""
        ...


class Cancelled(BaseException):
    """The pass is over its deadline, its run was cancelled, or its server stops. No `except Exception` stops it."""


class Cancellation:
    """Set once the pass should end; an async `reconcile` is cancelled as well."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """A sleep that ends early, with True, when the pass should end."""
        return self._event.wait(seconds)

    def check(self) -> None:
        """Raises Cancelled once it is set."""
        if self.is_set():
            raise Cancelled("the pass should have ended by now")


class Context:
    """What `reconcile` may ask and tell."""

    settled = staticmethod(results.settled)
    requeue_after = staticmethod(results.requeue_after)
    condition_true = staticmethod(results.condition_true)
    condition_false = staticmethod(results.condition_false)
    condition_unknown = staticmethod(results.condition_unknown)

    def __init__(
        self, ask: Ask, clock: Clock, cancellation: Cancellation, *, is_async: bool, unsettled: Iterable[str] = ()
    ) -> None:
        self.clock = clock
        self.cancellation = cancellation
        self.promises = Promises(ask, is_async=is_async)
        self.effects = Effects(self.promises, unsettled)
        self.workflows = Workflows(self.promises)
        self.told: list[Document] = []

    @property
    def requeue(self) -> Callable[..., results.Result]:
        """`requeue()`: look again as soon as there is a free worker."""
        return lambda *given, **named: results.requeue_after(0.0, *given, **named)

    def event(self, type_: str, message: str, severity: Literal["Normal", "Warning"] = "Normal") -> None:
        """One line in the resource's history; PascalCase types."""
        if not isinstance(type_, str) or not TYPE.fullmatch(type_):
            raise ValueError(f"event: its type must match {TYPE.pattern}")
        if not isinstance(message, str) or severity not in ("Normal", "Warning"):
            raise TypeError("event: expected a message as text, and Normal or Warning")
        self.told.append({"type": type_, "message": message, "severity": severity})
