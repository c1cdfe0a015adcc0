"""The scheduler of child runs: hears what is due, has it carried out, says how it ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import structlog

from controllers.definitions.carrier import Carrier, Died
from controllers.definitions.discovery import Folders
from controllers.definitions.loading import Unusable
from controllers.runtime.patience import Patience
from resources.canonical import Document
from resources.workflow_run import Completion, RunRecord
from store import workflow_runs
from store.environment import Environment, Task
from store.errors import Failed
from store.notes import RunDue, RunOver
from store.store import Store, notes_of
from store.workflow_steps import Superseded

log = structlog.get_logger("rmctl.workflow")
MOST_EPOCHS = 20
"""Processes that may die at one run before it counts as interrupted."""
WORKERS = 2


class Engine:
    """Hears of runs by the notes of what was committed; at the start it looks for those that were left.

    Nothing else passes between a store and an engine: another one with another carrier stands beside it. `new`: it
    takes runs that no engine has begun.
    """

    def __init__(
        self,
        store: Store,
        environment: Environment,
        folders: Folders,
        carrier: Carrier,
        *,
        new: bool = True,
        workers: int = WORKERS,
    ) -> None:
        self._store = store
        self._environment = environment
        self._folders = folders
        self._carrier = carrier
        self._new = new
        self._patience = Patience(store, environment)
        self._due: deque[str] = deque()
        self._at_work: set[str] = set()
        self._again: set[str] = set()
        self._came = [environment.signal() for _ in range(workers)]
        self._tasks: list[Task] = []
        self._stopping = False
        store.subscribe(self._heard)

    def start(self) -> None:
        with self._store.read() as tx:
            self._due.extend(workflow_runs.due(tx))
        self._tasks = [
            self._environment.spawn(f"workflow-{self._carrier.name}-{number}", partial(self._serve, number))
            for number in range(len(self._came))
        ]
        self._wake()

    def stop(self, timeout: float = 5.0) -> None:
        """What is under way is left where it is; the next server goes on with it."""
        self._stopping = True
        self._patience.stop()
        self._carrier.stop()
        self._wake()
        for task in self._tasks:
            task.join(timeout)

    def has(self, name: str, project: str) -> bool:
        """Whether there is a file for a workflow."""
        return name in self._folders.of(project).files

    def _heard(self, notes: Sequence[object]) -> None:
        for due in notes_of(notes, RunDue):
            self._due.append(due.run_id)
            self._wake()
        for over in notes_of(notes, RunOver):
            if over.run_id in self._at_work:
                self._carrier.interrupt(over.run_id)

    def _wake(self) -> None:
        for signal in self._came:
            signal.set()

    def _serve(self, number: int) -> None:
        mine = self._came[number]
        while not self._stopping:
            mine.wait()
            mine.clear()
            while self._due and not self._stopping:
                try:
                    run_id = self._due.popleft()
                except IndexError:
                    break
                if run_id in self._at_work:
                    self._again.add(run_id)
                else:
                    self.run(run_id)

    def run(self, run_id: str) -> None:
        """One process's part of a run, whatever becomes of it."""
        self._at_work.add(run_id)
        try:
            run = self._begun(run_id)
            if run is None:
                return
            outcome = self._carried_out(run)
            log.info("workflow", run=run_id, workflow=run.workflow, epoch=run.epoch, outcome=outcome)
        except Failed:  # the server stops
            log.warning("workflow left", run=run_id)
        except Exception:
            self._again.add(run_id)
            raise
        finally:
            self._at_work.discard(run_id)
            if run_id in self._again:
                self._again.discard(run_id)
                self._due.append(run_id)
                self._wake()

    def _begun(self, run_id: str) -> RunRecord | None:
        with self._store.read() as tx:
            found = workflow_runs.by_id(tx, run_id)
        mine = found is not None and (found.engine == self._carrier.name or (self._new and found.engine is None))
        if not mine or not self._carrier.ready(lambda why: self._remarked(run_id, why)):
            return None
        begin = partial(workflow_runs.begin, run_id=run_id, engine=self._carrier.name, new=self._new)
        run: RunRecord | None = self._patience.write(begin)
        return run

    def _remarked(self, run_id: str, why: str) -> None:
        self._patience.write(partial(workflow_runs.remark, run_id=run_id, why=why))

    def _carried_out(self, run: RunRecord) -> str:
        if run.epoch > MOST_EPOCHS:
            return self._ended(run, "interrupted", error=f"{MOST_EPOCHS} processes have died at it")
        path = self._folders.of(run.owner.project).files.get(run.workflow)
        if path is None:
            return self._ended(run, "interrupted", error=f"no workflow {run.workflow} any more")
        try:
            said = self._carrier.carry(run, path)
        except Unusable as error:
            if self._stopping:  # which ends what was being loaded
                return "left"
            return self._ended(run, "interrupted", error=str(error))
        except Superseded:
            return "left"
        except Died as how:
            if self._stopping:
                return "left"
            log.warning("a process died at a workflow", run=run.run_id, how=str(how))
            self._again.add(run.run_id)
            return "goes on"
        return self._told(run, said)

    def _told(self, run: RunRecord, said: Document) -> str:
        match said:
            case {"waits": _}:
                return "waits"
            case {"interrupted": str() as error}:
                return self._ended(run, "interrupted", error=error)
            case {"failed": str() as error}:
                return self._ended(run, "failed", error=error)
            case {"result": result}:
                return self._ended(run, "succeeded", result=result)
            case _:
                return self._ended(run, "failed", error="the workflow said what is no result")

    def _ended(self, run: RunRecord, state: Any, *, result: Any = None, error: str | None = None) -> str:
        said = Completion(run.uid, run.key, run.run_id, run.attempt, state, result, error)
        ignored = self._patience.write(partial(workflow_runs.complete, said=said))
        return f"{state}, ignored: {ignored}" if ignored else str(state)
