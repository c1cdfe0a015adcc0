"""Upkeep: drops what is over and old, or belongs to nobody, in small writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import structlog

from controllers.runtime.patience import Patience
from store import changes, orphans, placement_log, retention, set_back, workflow_runs
from store.environment import Environment, Task
from store.errors import Failed
from store.retention import Keys
from store.store import Store

log = structlog.get_logger("rmctl.upkeep")
DAY_SECONDS = 86_400.0
AT_ONCE = 500
"""Rows of one write."""


@dataclass(frozen=True)
class Retention:
    """`revisions` are kept for watches, and counted every `look_seconds`; what is over is kept for `days`."""

    revisions: int = 50_000
    days: float = 30.0
    look_seconds: float = 60.0


class Upkeep:
    """One task. What it leaves undone when it is stopped, the next one does."""

    def __init__(self, store: Store, environment: Environment, kept: Retention) -> None:
        self._store = store
        self._environment = environment
        self._kept = kept
        self._over = environment.signal()
        self._patience = Patience(store, environment)
        self._task: Task | None = None

    def start(self) -> None:
        self._task = self._environment.spawn("upkeep", self._run)

    def stop(self) -> None:
        self._over.set()
        self._patience.stop()
        if self._task is not None:
            self._task.join(5.0)

    def look(self) -> None:
        """What a minute asks for, and once a day the rest."""
        if hurried := self._patience.write(set_back.hurry):
            log.warning("the clock was set back", due_now=hurried)
        self.compact()
        with self._store.read() as tx:
            swept = retention.swept_at(tx)
        if swept is None or not swept <= self._environment.now() < swept + DAY_SECONDS:
            self.sweep()

    def compact(self) -> int:
        """Drop the revisions that nobody may ask for any more; how many."""
        dropped = 0
        while not self._over.is_set():
            some = self._patience.write(partial(changes.compact, keep=self._kept.revisions, most=AT_ONCE))
            dropped += some
            if some < AT_ONCE:
                break
        if dropped:
            self._patience.write(placement_log.compact)
        return dropped

    def sweep(self) -> None:
        """Drop all that may go by now."""
        before = self._environment.now() - self._kept.days * DAY_SECONDS
        with self._store.read() as tx:
            effects, events = retention.old_effects(tx, before), retention.old_events(tx, before)
            strays = orphans.find(tx)
        self._drop(effects, retention.drop_effects)
        self._drop(events, partial(retention.drop_events, before=before))
        credentials = self._patience.write(partial(retention.drop_credentials, before=before))
        runs = self._patience.write(partial(workflow_runs.drop_old, before=before, most=AT_ONCE))
        for uid in strays:
            self._patience.write(partial(orphans.let_go, uid=uid))
        self._patience.write(retention.note_sweep)
        gone = {"effects": len(effects), "events": len(events), "credentials": credentials}
        log.info("swept", orphans=len(strays), runs=runs, **gone)

    def _drop(self, keys: Keys, drop: Callable[..., None]) -> None:
        for start in range(0, len(keys), AT_ONCE):
            self._patience.write(partial(drop, keys=keys[start : start + AT_ONCE]))

    def _run(self) -> None:
        while not self._over.wait(self._kept.look_seconds):
            with suppress(Failed):  # only a stop gives up; the next server goes on
                self.look()
