"""The environment of production: threads, real clocks, the operating system's randomness."""

from __future__ import annotations

import gc
import random
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable

import structlog

from controllers.runtime.signals import Gate

log = structlog.get_logger("rmctl.task")
SWITCH_SECONDS = 0.0005
"""Beside busy threads an event loop answers within milliseconds only when threads give way this often."""
COLLECT_AFTER = 20_000
"""New objects between two searches for cycles: what a server makes either dies at once or lives long."""
AGAIN_SECONDS = 1.0


def settle_in() -> None:
    """Set the interpreter up for a process of many threads that runs for long."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(COLLECT_AFTER)
    gc.freeze()


class Threads:
    """Tasks are threads; instants are the machine's.

    A task that fails begins again: a server that has lost a worker to one damaged page looks well, and does less.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def signal(self) -> Gate:
        return Gate()

    def spawn(self, name: str, target: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            while True:
                try:
                    return target()
                except BaseException:  # a worker that is told to exit is missed like any other
                    log.exception("task failed", task=name)
                    time.sleep(AGAIN_SECONDS)

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def random(self) -> random.Random:
        generator: random.Random | None = getattr(self._local, "random", None)
        if generator is None:
            generator = self._local.random = random.Random(secrets.randbits(64))
        return generator

    def token(self) -> str:
        return secrets.token_urlsafe(32)

    def uuid(self) -> str:
        return str(uuid.uuid4())

    def in_transaction(self) -> bool:
        return bool(getattr(self._local, "writing", False))

    def enter_transaction(self) -> None:
        self._local.writing = True

    def leave_transaction(self) -> None:
        self._local.writing = False
