"""The environment of production: threads, real clocks, the operating system's randomness."""

from __future__ import annotations

import random
import secrets
import threading
import time
import uuid
from collections.abc import Callable


class Threads:
    """Tasks are threads; instants are the machine's."""

    def __init__(self) -> None:
        self._local = threading.local()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def signal(self) -> threading.Event:
        return threading.Event()

    def spawn(self, name: str, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, name=name, daemon=True)
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
