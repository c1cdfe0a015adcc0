"""The host of definitions: their files, their runners and their passes, for one server."""

from __future__ import annotations

from pathlib import Path

from controllers.definitions.carrier import Carrier, StoreCarrier
from controllers.definitions.dbos_carrier import DbosCarrier
from controllers.definitions.discovery import Folders
from controllers.definitions.engine import WORKERS, Engine
from controllers.definitions.lending import NotLent
from controllers.definitions.passes import DefinitionPasses
from controllers.definitions.pool import Pool
from controllers.definitions.processes import Limits, reap
from controllers.definitions.proposals import Definitions
from controllers.definitions.shapes import Shapes
from controllers.definitions.watching import FileWatch
from resources import registry
from resources.reference import Ref
from store import kinds
from store.environment import Environment
from store.store import Store
from store.workflow_file import NAME


class Host:
    """`start` is for the holder of the folder's lock: what an earlier server left running ends then."""

    def __init__(
        self,
        store: Store,
        environment: Environment,
        folders: Folders,
        limits: Limits,
        *,
        workers: int = 4,
        engine: str = "store",
        runs: int = WORKERS,
    ) -> None:
        """`engine` takes the child runs that come, `runs` at once; each engine goes on with what it has begun."""
        self._store = store
        self._folders = folders
        self._running = False
        self._notes = None if store.folder is None else store.folder.absolute() / "runners"
        self._pool = Pool(limits, self._notes, environment.monotonic)
        self.definitions = Definitions(folders, self._pool)
        self.shapes = Shapes(folders, self.definitions)
        carriers: list[Carrier] = [StoreCarrier(store, environment, self._pool)]
        if self._notes is not None:
            carriers.append(DbosCarrier(store, environment, self._notes.with_name(NAME), limits, self._notes))
        files = folders.workflows()
        self.engines = {
            one.name: Engine(store, environment, files, one, new=one.name == engine, workers=runs) for one in carriers
        }
        self.engine = self.engines[engine]
        self.passes = DefinitionPasses(
            store, environment, self.definitions, self._pool, workers=workers, has_workflow=self.engine.has
        )
        self._watch = FileWatch(store, environment, folders, self.passes.watched)

    def start(self) -> None:
        """Starting twice is starting once."""
        if self._running:
            return
        self._running = True
        if self._notes is not None:
            reap(self._notes)
        with self._store.read() as tx:
            stored = kinds.stored(tx)
        for kind in stored:
            registry.define(kind, self.definitions.propose)
        self.definitions.refresh()
        registry.SEEKERS.append(self.definitions.refresh)
        registry.PLACES.append(self._folders.places)
        self.passes.start()
        for one in self.engines.values():
            one.start()
        self._watch.start()

    def lend(self, ref: Ref, file: Path, socket: Path) -> None:
        """From now on passes of a kind in a project run behind a socket, whose owner works on this file of it.

        Raises Undefined, and NotLent where another file is behind the kind, or another terminal works on it.
        """
        path = self.definitions.find(ref).path
        if file.resolve() != path.resolve():
            raise NotLent(
                f'{ref.kind} in project "{ref.project}" is defined by {path}, not by {file}',
                "work in the folder of that file, or name another project with -p",
            )
        self._pool.lending.lend(ref.project, path, socket)

    def stop(self) -> None:
        """Stopping twice is stopping once."""
        if not self._running:
            return
        self._running = False
        registry.SEEKERS.remove(self.definitions.refresh)
        registry.PLACES.remove(self._folders.places)
        self._watch.stop()
        for one in self.engines.values():
            one.stop()
        self.passes.stop()
