"""The manager: the runtime's parts, started and stopped in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from controllers.runtime.controller import Controller
from controllers.runtime.driver import EffectDriver
from controllers.runtime.effects import EffectWorkers
from controllers.runtime.fleet import Fleet
from controllers.runtime.hearing import Hearing
from controllers.runtime.passes import TOGETHER, Passes
from controllers.runtime.upkeep import Retention, Upkeep
from controllers.runtime.waker import Waker
from controllers.scheduling import PLAIN, Scheduling
from store import effects, holds, nodes, queue, set_back
from store.environment import Environment
from store.store import Store
from store.tx import Tx

SETTINGS = "settings"
"""Who holds effects while the server is set to record them: such a hold goes when the setting does."""


class Manager:
    """Runs controllers over one store, in production and in simulation alike."""

    def __init__(
        self,
        store: Store,
        environment: Environment,
        controllers: Mapping[str, Controller[Any, Any]],
        drivers: Sequence[EffectDriver],
        *,
        workers: int = 8,
        effect_workers: int = 8,
        together: int = TOGETHER,
        dry: bool = False,
        retention: Retention | None = None,
        scheduling: Scheduling = PLAIN,
    ) -> None:
        """`dry`: effects are recorded and none is begun. Without `retention` nothing that is over is ever dropped."""
        self.store = store
        self._dry = dry
        self.started_at = environment.now()
        self.fleet = Fleet(store, scheduling)
        self.passes = Passes(
            store,
            self.fleet,
            environment,
            controllers,
            workers=workers,
            together=together,
            started_at=self.started_at,
        )
        self.effects = tuple(
            EffectWorkers(
                store, self.fleet, environment, driver, workers=effect_workers, started_at=self.started_at, dry=dry
            )
            for driver in drivers
        )
        self.waker = Waker(store, self.fleet, environment)
        self.hearing = Hearing(store, environment, self.passes.epoch)
        self.upkeep = None if retention is None else Upkeep(store, environment, retention)

    def start(self) -> None:
        """Take over what a server before this one left claimed, then run."""
        self.store.write(partial(_take_over, dry=self._dry))
        self.fleet.hydrate()
        self.waker.start()
        for workers in self.effects:
            workers.start()
        self.passes.start()
        self.hearing.start()
        if self.upkeep is not None:
            self.upkeep.start()

    def stop(self) -> None:
        """Passes first, then effects, so that every answer finds its receipt."""
        if self.upkeep is not None:
            self.upkeep.stop()
        self.hearing.stop()
        self.passes.stop()
        for workers in self.effects:
            workers.stop()
        self.waker.stop()


def _take_over(tx: Tx, *, dry: bool) -> None:
    """The folder's lock is held: claims of earlier servers are void, and every node's silence counts from now."""
    queue.expire_all(tx)
    effects.expire_all(tx)
    set_back.hurry(tx)
    nodes.restart_clocks(tx)
    hold = holds.find(tx)
    if dry and hold is None:
        holds.put(tx, "this server only records effects", by=SETTINGS)
    elif not dry and hold is not None and hold.by == SETTINGS:
        holds.lift(tx)
