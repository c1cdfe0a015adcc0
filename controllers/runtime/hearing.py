"""Hearing: sees once a second which nodes have fallen silent, so that no healthy node is looked at for that."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from controllers.runtime.epoch import Epoch
from controllers.runtime.patience import Patience
from resources.reference import Ref
from store import nodes, queue, resources
from store.environment import Environment, Task
from store.errors import Failed
from store.store import Store
from store.tx import Tx

LOOK_SECONDS = 1.0


class Hearing:
    """One task. Whatever it misses, the nodes' own rare looks make good."""

    def __init__(self, store: Store, environment: Environment, epoch: Epoch) -> None:
        self._store = store
        self._environment = environment
        self._epoch = epoch
        self._over = environment.signal()
        self._patience = Patience(store, environment)
        self._seen = 0.0
        self._task: Task | None = None

    def start(self) -> None:
        self._task = self._environment.spawn("hearing", self._run)

    def stop(self) -> None:
        self._over.set()
        self._patience.stop()
        if self._task is not None:
            self._task.join(5.0)

    def look(self) -> Sequence[str]:
        """Wakes the nodes whose silence began since the last look, and names them.

        A clock that is set back leaves no gap: the next look begins where this one ends, whatever was seen before.
        """
        started = self._store.heard_since(self._epoch.since())
        with self._store.read() as tx:
            now = tx.now
            fell = nodes.fell_silent(tx, after=self._seen, until=now, started=started)
        if fell:
            self._patience.write(partial(_wake, names=fell))
        self._seen = now
        return fell

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            with suppress(Failed):
                self.look()


def _wake(tx: Tx, names: Sequence[str]) -> None:
    for name in names:
        if resources.stands(tx, Ref("node", name)):
            queue.enqueue(tx, Ref("node", name))
