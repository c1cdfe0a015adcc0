"""Asking: the questions of one pass, or run, to whoever keeps its record."""

from __future__ import annotations

import threading
from collections.abc import Callable

from resources.canonical import Document

Ask = Callable[[Document], Document]
"""Sends one message to whoever keeps the ledger, and returns its answer."""


class Ended(Exception):
    """The pass, or the run, that the context belonged to is over; what outlives it may do nothing in its name."""


class Asking:
    """One question at a time, though a definition may have many tasks, and none after the end."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._turn = threading.Lock()
        self._over = False

    def __call__(self, message: Document) -> Document:
        """Raises Ended."""
        with self._turn:
            if self._over:
                raise Ended("the pass is over: nothing more can be asked through its ctx")
            return self._ask(message)

    def end(self) -> None:
        """Whoever is being answered is waited for."""
        with self._turn:
            self._over = True
