"""Passes of a definition under test: in a thread of the test's own process, where a server has processes."""

from __future__ import annotations

import queue as queues
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from controllers.definitions.channel import Broken
from controllers.definitions.context import Cancellation
from controllers.definitions.executing import reconcile
from controllers.definitions.proposals import Source
from controllers.definitions.sdk import Definition
from controllers.definitions.touching import PassOver
from controllers.runtime.environment import Threads
from resources.canonical import Document
from resources.reference import Ref

GONE: Document = {"next": "over", "after": 0.0, "reason": "the process is gone", "unready": ""}


class Rehearsals:
    """Stands for the files and for the processes: the definition runs in a thread of the test's own process."""

    def __init__(self, definition: Definition, clock: Threads) -> None:
        self._definition = definition
        self._clock = clock
        self.fatal = ""
        self.died = False

    def find(self, ref: Ref) -> Source:
        return Source(Path(f"{ref.kind}.resource_manager.py"), "in this process")

    def take(self, _path: Path, _digest: str, _project: str) -> _Rehearsal:
        return _Rehearsal(self._definition, self._clock, self.fatal, self._dies)

    def _dies(self) -> None:
        self.died = True

    def give_back(self, runner: Any, _said: Document) -> None:
        runner.end()

    def retire(self, runner: Any, *, now: bool = False) -> None:  # noqa: ARG002  there is no process to hurry
        runner.end()

    def close(self) -> None:
        return None


class _Rehearsal:
    """A runner and its channel in one."""

    pid = 0

    def __init__(self, definition: Definition, clock: Threads, fatal: str, dies: Callable[[], None]) -> None:
        self.deadline = definition.deadline
        self.channel = self
        self._definition = definition
        self._clock = clock
        self._fatal = fatal
        self._dies = dies
        self._said: queues.Queue[Document] = queues.Queue()
        self._told: queues.Queue[Document] = queues.Queue()
        self._asking = threading.Lock()
        self._over = False
        self._thread: threading.Thread | None = None

    def send(self, message: Document) -> None:
        if message.get("do") != "reconcile":
            self._told.put(message)
            return
        self._thread = threading.Thread(target=self._run, args=(message,), daemon=True)
        self._thread.start()

    def receive(self, _timeout: float | None = None) -> Document | None:
        said = self._said.get()
        if self._fatal and (said.get("ask") or {}).get("effect") == "answered" and said["ask"]["key"] == self._fatal:
            self._dies()
            raise Broken("the test let it die")
        return said

    def ended(self) -> str:
        return "the runner was killed by signal 9"

    def whereabouts(self) -> str:
        return ""

    def end(self) -> None:
        self._over = True
        self._told.put(GONE)
        if self._thread is not None:
            self._thread.join()

    def _run(self, message: Document) -> None:
        said = reconcile(self._definition, message, self._ask, self._clock, Cancellation())
        with self._asking:
            self._over = True
        self._said.put(said)

    def _ask(self, message: Document) -> Document:
        """One question at a time, though a definition may have many tasks; none once its pass is over."""
        with self._asking:
            if self._over:
                raise PassOver(0.0, "the pass is over")
            self._said.put({"ask": message})
            return self._told.get()
