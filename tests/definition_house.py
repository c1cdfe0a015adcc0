"""A store, the host of definitions and their real runner processes, for one test."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from controllers.definitions.discovery import Folders
from controllers.definitions.host import Host
from controllers.definitions.processes import Limits
from controllers.runtime.environment import Threads
from resources import conditions
from resources.reference import Ref
from resources.resource import Resource
from store import effects, events, queue, resources
from store.store import Store

HEAD = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from rmctl import Spec, Status, condition_true, resource_manager

class TheSpec(Spec):
    folder: str = ""
    size: int = 1

class TheStatus(Status):
    pid: int = 0
    size: int = 0

def ready(ctx, resource):
    return ctx.settled({"pid": os.getpid(), "size": resource.spec.size}, conditions=[condition_true("Ready", "Fine")])
"""
RECONCILE = """
@resource_manager("{kind}", spec=TheSpec, status=TheStatus, deadline={deadline})
def reconcile(ctx, resource):
    {body}
    return ready(ctx, resource)
"""


class House:
    """Definitions stand in `files`; nothing runs until a test lets it."""

    def __init__(
        self,
        folder: Path,
        *,
        limits: Limits | None = None,
        engine: str = "store",
        projects: Mapping[str, Path] | None = None,
    ) -> None:
        self.folder = folder
        self.files = folder / "rm" / "resource-managers"
        self.workflows = folder / "rm" / "workflows"
        self.workflows.mkdir(parents=True, exist_ok=True)
        self.files.mkdir(parents=True, exist_ok=True)
        self.environment = Threads()
        self.store = Store.open(folder / "data", self.environment, synchronous="OFF")
        self.host = Host(
            self.store,
            self.environment,
            Folders(folder / "rm", projects or {}),
            limits or Limits(load_seconds=60, grace_seconds=0.5),
            engine=engine,
        )

    def put(self, kind: str, body: str = "pass", *, deadline: float = 600, head: str = "") -> Path:
        path = self.files / f"{kind}.resource_manager.py"
        path.write_text(HEAD + head + RECONCILE.format(kind=kind, deadline=deadline, body=body))
        self.host.definitions.refresh()
        return path

    def create(self, kind: str, name: str, spec: dict[str, Any] | None = None, *, project: str = "default") -> Ref:
        ref = Ref(kind, name, project)
        self.store.write(lambda tx: resources.create(tx, ref, spec or {}))
        return ref

    def run(self, *, most: int = 1) -> int:
        """At most so many passes over what is due; how many there were."""
        for number in range(most):
            claims = self.store.write(lambda tx: self.host.passes.take(tx, 1))
            if not claims:
                return number
            self.host.passes.run(claims[0])
        return most

    def wake(self, ref: Ref) -> None:
        self.store.write(lambda tx: queue.enqueue(tx, ref))

    def get(self, ref: Ref) -> Resource[Any, Any]:
        with self.store.read() as tx:
            return resources.get(tx, ref)

    def pid(self, ref: Ref) -> int:
        """Of the runner that the last good pass ran in."""
        return int(self.get(ref).status.own["pid"])

    def ready(self, ref: Ref) -> str:
        found = conditions.find(self.get(ref).status.conditions, "Ready")
        return f"{found.status}/{found.reason}" if found else ""

    def events(self, ref: Ref) -> list[str]:
        """Newest first, without that of its creation."""
        with self.store.read() as tx:
            found = events.list_for(tx, ref)
            return [f"{one.type}: {one.message}" for one in found if one.type != "ResourceCreated"]

    def effects(self, ref: Ref) -> list[tuple[str, str, int]]:
        with self.store.read() as tx:
            return [(one.key, one.state, one.attempts) for one in effects.of(tx, resources.get(tx, ref).uid)]

    def errors(self, ref: Ref) -> int:
        """In a row, of a key that waits."""
        with self.store.read() as tx:
            return next((row.errors for row in queue.list_all(tx) if row.name == ref.name), 0)


@contextmanager
def a_house(
    folder: Path,
    *,
    limits: Limits | None = None,
    engine: str = "store",
    projects: Mapping[str, Path] | None = None,
) -> Iterator[House]:
    house = House(folder, limits=limits, engine=engine, projects=projects)
    try:
        yield house
    finally:
        for one in house.host.engines.values():
            one.stop()
        house.host.passes.stop()
        house.store.close()


def gone(pid: int) -> bool:
    """Ended, or waiting only for its parent to notice."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def at_work(house: House, run_id: str) -> tuple[threading.Thread, int]:
    """A run that is in the middle of its second step; the pid of its runner."""
    thread = threading.Thread(target=house.host.engine.run, args=(run_id,))
    thread.start()
    pid = house.folder / "pid"
    while not (pid.exists() and pid.read_text()):
        pass
    return thread, int(pid.read_text())
