"""The watch over files: a definition that changed wakes the resources of its kind, a file in use wakes its user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import structlog

from controllers.definitions.discovery import Folders
from controllers.runtime.patience import Patience
from resources.reference import Ref
from store import kinds, queue, resources
from store.environment import Environment, Task
from store.errors import Failed
from store.store import Store
from store.tx import Tx

log = structlog.get_logger("rmctl.definitions")
LOOK_SECONDS = 1.0
Stamp = tuple[int, int, int]
Watched = dict[Ref, dict[Path, Stamp | None]]


class FileWatch:
    """It says nothing of what changed: the next pass looks for itself."""

    def __init__(self, store: Store, environment: Environment, folders: Folders, watched: Watched) -> None:
        self._store = store
        self._environment = environment
        self._folders = folders
        self._watched = watched
        self._patience = Patience(store, environment)
        self._over = environment.signal()
        self._seen: Mapping[Path, Stamp | None] = {}
        self._task: Task | None = None

    def start(self) -> None:
        """What changed while nobody looked is made good: every resource of a definition gets a pass."""
        self._seen = _stamps(self._folders.paths())
        self._patience.write(_wake_all)
        self._task = self._environment.spawn("definition-files", self._run)

    def stop(self) -> None:
        self._over.set()
        self._patience.stop()
        if self._task is not None:
            self._task.join(5.0)

    def look(self) -> None:
        now = _stamps(self._folders.paths())
        moved = {path for path in {*now, *self._seen} if now.get(path) != self._seen.get(path)}
        self._seen = now
        changed = frozenset(path.name.partition(".")[0] for path in moved)
        users = [ref for ref, files in tuple(self._watched.items()) if _stamps(files) != files]
        for ref in users:
            self._watched[ref] = _stamps(self._watched[ref])
        if changed:
            log.info("definitions changed", kinds=sorted(changed))
        if changed or users:
            self._patience.write(partial(_wake, kinds=changed, users=users))

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            with suppress(Failed):
                self.look()


def _stamps(paths: Iterable[Path]) -> dict[Path, Stamp | None]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _wake(tx: Tx, kinds: frozenset[str], users: list[Ref]) -> None:
    refs = [one.ref for kind in sorted(kinds) for one in resources.list_all(tx, kind)] + users
    for ref in refs:
        if resources.stands(tx, ref):
            queue.enqueue(tx, ref)


def _wake_all(tx: Tx) -> None:
    for kind in kinds.stored(tx):
        if queue.lane_of(Ref(kind, "")) == queue.DEFINED:
            _wake(tx, frozenset({kind}), [])
