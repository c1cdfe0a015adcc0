"""One life of the server over a folder: opened, taken over, run as greenlets on a virtual clock."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from api.agent_facts import AgentFacts
from controllers.providers.agents import AgentDriver, Connections
from controllers.registry import CONTROLLERS
from controllers.runtime.manager import Manager
from resources.reference import Ref
from store import credentials, resources
from store.store import Store
from store.tx import Tx
from tests.builders import a_pool
from tests.crash.lines import Lines
from tests.crash.node import Agent
from tests.crash.outside import Outside
from tests.simulation.environment import Simulated
from tests.simulation.scheduler import Scheduler, SimTask
from tests.simulation.server import Promised

NODES = ("n1", "n2")
STEPS = 20_000
DROPPED: list[Life] = []
"""Kept, since a greenlet that is collected is run to its end."""


class Traced(Simulated):
    """Every task of the process has its lines counted."""

    def __init__(self, scheduler: Scheduler, lines: Lines) -> None:
        super().__init__(scheduler, "server")
        self._lines = lines

    def spawn(self, name: str, target: Callable[[], None]) -> SimTask:
        return super().spawn(name, self._lines.watch(target))


class Life:
    """`story` is run as a task once the server is up; `run` ends when it is over and everything has settled."""

    def __init__(self, folder: Path, lines: Lines, *, seed: int, start: float) -> None:
        self.scheduler = Scheduler(seed)
        self.scheduler.offset = start
        self.environment = Traced(self.scheduler, lines)
        self.folder = folder
        self._life = seed
        self.outside = Outside(folder / "outside.db")
        self.told = False
        self.ticked: Callable[[float], None] = lambda _now: None
        self.store: Store | None = None

    def run(self, story: Callable[[Life], None], settled: Callable[[Life], bool]) -> None:
        """Raises Stuck when it does not settle."""

        def live() -> None:
            self._boot()
            story(self)
            self.told = True

        self.environment.spawn("life", live)
        looked = 0

        def over() -> bool:
            nonlocal looked
            self.ticked(self.scheduler.now)
            if not self.told or self.scheduler.steps - looked < 50:
                return False
            looked = self.scheduler.steps
            return settled(self)

        self.scheduler.run(over, limit=STEPS)

    def write(self, fn: Callable[[Tx], object]) -> None:
        assert self.store is not None
        self.store.write(fn)

    def acknowledge(self, line: str) -> None:
        """What a client was told; it outlives the process."""
        descriptor = os.open(self.folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)

    def until(self, found: Callable[[Tx], bool]) -> None:
        """Look after each step of the others."""
        assert self.store is not None
        while True:
            with self.store.read() as tx:
                if found(tx):
                    return
            self.scheduler.sleep(0.01)

    def drop(self) -> None:
        """Let go of the files without a word to the tasks, which never run again."""
        assert self.store is not None
        for held in (*self.store._readers, self.store._writing):
            held.connection.close()
        self.store.engine.dispose()
        self.outside.close()
        DROPPED.append(self)

    def _boot(self) -> None:
        self.store = Store.open(self.folder / "data", self.environment, synchronous="OFF")
        connections = Connections(lambda: Promised(self.environment.signal()))
        facts = AgentFacts(self.store)
        manager = Manager(
            self.store,
            self.environment,
            {controller.kind: controller for controller in CONTROLLERS},
            [AgentDriver(connections)],
            workers=3,
            effect_workers=2,
        )
        self.store.write(_first_pool)
        manager.start()
        for name in NODES:
            token = f"join-{name}-{self._life}"
            self.store.write(partial(credentials.issue_join, raw=token, node=name, pool="default"))
            agent = Agent(name, self.store, connections, self.outside, self.scheduler)
            self.environment.spawn(name, partial(agent.run, facts, token))


def _first_pool(tx: Tx) -> None:
    """As the composed server makes it."""
    if not resources.list_all(tx, "pool"):
        resources.create(tx, Ref("pool", "default"), a_pool())
