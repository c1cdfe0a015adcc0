"""The watch over definition files: a file that came, changed or went wakes the resources of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import structlog

from controllers.definitions.discovery import Folders
from controllers.runtime.patience import Patience
from store import queue, resources
from store.environment import Environment, Task
from store.errors import Failed
from store.store import Store
from store.tx import Tx

log = structlog.get_logger("rmctl.definitions")
LOOK_SECONDS = 1.0
Stamp = tuple[int, int, int]


class FileWatch:
    """It says nothing of what changed: the next pass reads the file."""

    def __init__(self, store: Store, environment: Environment, folders: Folders) -> None:
        self._store = store
        self._environment = environment
        self._folders = folders
        self._patience = Patience(store, environment)
        self._over = environment.signal()
        self._seen: Mapping[Path, Stamp] = {}
        self._task: Task | None = None

    def start(self) -> None:
        self._seen = self._stamps()
        self._task = self._environment.spawn("definition-files", self._run)

    def stop(self) -> None:
        self._over.set()
        self._patience.stop()
        if self._task is not None:
            self._task.join(5.0)

    def look(self) -> frozenset[str]:
        """The kinds whose files are not what they were; their resources are woken."""
        now = self._stamps()
        moved = {path for path in {*now, *self._seen} if now.get(path) != self._seen.get(path)}
        self._seen = now
        kinds = frozenset(path.name.partition(".")[0] for path in moved)
        if kinds:
            log.info("definitions changed", kinds=sorted(kinds))
            self._patience.write(partial(_wake, kinds=kinds))
        return kinds

    def _stamps(self) -> dict[Path, Stamp]:
        found: dict[Path, Stamp] = {}
        for path in self._folders.paths():
            with suppress(OSError):
                status = path.stat()
                found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return found

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            with suppress(Failed):
                self.look()


def _wake(tx: Tx, kinds: frozenset[str]) -> None:
    for kind in sorted(kinds):
        for one in resources.list_all(tx, kind):
            queue.enqueue(tx, one.ref)
