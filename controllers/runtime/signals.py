"""The signal of threads: an event whose waiters wake one after the other."""

from __future__ import annotations

from _thread import allocate_lock
from contextlib import suppress


class Gate:
    """One lock that is held while the signal is not set.

    Who gets through opens it for the next, so that of many waiters two at most fight over the interpreter; the standard
    library's event wakes all of them at once, and costs four times as much. Whoever clears it must be the only waiter.
    """

    __slots__ = ("_lock", "_open")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._lock.acquire()
        self._open = False

    def set(self) -> None:
        if not self._open:
            self._open = True
            self._pass_on()

    def clear(self) -> None:
        self._open = False
        self._lock.acquire(blocking=False)

    def is_set(self) -> bool:
        return self._open

    def wait(self, timeout: float | None = None) -> bool:
        """Seconds; True when it was set."""
        if timeout is not None:
            if not self.is_set() and self._lock.acquire(timeout=timeout) and self.is_set():
                self._pass_on()
            return self.is_set()
        while not self.is_set():
            self._lock.acquire()
            if self.is_set():
                self._pass_on()
        return True

    def _pass_on(self) -> None:
        with suppress(RuntimeError):  # another one has passed it on already
            self._lock.release()
