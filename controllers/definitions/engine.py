"""The shipped scheduler of child runs: each in a runner process, gone on with behind its last recorded step."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from controllers.definitions.channel import Broken
from controllers.definitions.discovery import Folders
from controllers.definitions.loading import Unusable, source
from controllers.definitions.pool import Pool
from controllers.definitions.processes import Process
from controllers.runtime.patience import Patience
from resources.canonical import Document
from resources.workflow_run import Completion, RunRecord, StepRecord
from store import workflow_runs, workflow_steps
from store.environment import Environment, Task
from store.errors import Failed
from store.notes import RunDue, RunOver
from store.store import Store, notes_of
from store.tx import Tx
from store.workflow_steps import Superseded

log = structlog.get_logger("rmctl.workflow")
MOST_EPOCHS = 20
"""Processes that may die at one run before it counts as interrupted."""
WORKERS = 2


class Engine:
    """Hears of runs by the notes of what was committed; at the start it looks for those that were left."""

    def __init__(
        self, store: Store, environment: Environment, folders: Folders, pool: Pool, *, workers: int = WORKERS
    ) -> None:
        self._store = store
        self._environment = environment
        self._folders = folders
        self._pool = pool
        self._patience = Patience(store, environment)
        self._due: deque[str] = deque()
        self._at_work: dict[str, Process | None] = {}
        self._again: set[str] = set()
        self._came = [environment.signal() for _ in range(workers)]
        self._tasks: list[Task] = []
        self._stopping = False
        store.subscribe(self._heard)

    def start(self) -> None:
        with self._store.read() as tx:
            self._due.extend(workflow_runs.due(tx))
        self._tasks = [
            self._environment.spawn(f"workflow-{number}", partial(self._serve, number))
            for number in range(len(self._came))
        ]
        self._wake()

    def stop(self, timeout: float = 5.0) -> None:
        """What is under way is left where it is; the next server goes on with it."""
        self._stopping = True
        self._patience.stop()
        for runner in tuple(self._at_work.values()):
            if runner is not None:
                runner.interrupt()
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
            runner = self._at_work.get(over.run_id)
            if runner is not None:
                runner.interrupt()

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
        self._at_work[run_id] = None
        try:
            run: RunRecord | None = self._patience.write(partial(workflow_runs.begin, run_id=run_id))
            if run is None:
                return
            outcome = self._carried_out(run)
            log.info("workflow", run=run_id, workflow=run.workflow, epoch=run.epoch, outcome=outcome)
        except Failed:
            log.warning("workflow left", run=run_id)
        finally:
            self._at_work.pop(run_id, None)
            if run_id in self._again:
                self._again.discard(run_id)
                self._due.append(run_id)
                self._wake()

    def _carried_out(self, run: RunRecord) -> str:
        if run.epoch > MOST_EPOCHS:
            return self._ended(run, "interrupted", error=f"{MOST_EPOCHS} processes have died at it")
        path = self._folders.of(run.owner.project).files.get(run.workflow)
        if path is None:
            return self._ended(run, "interrupted", error=f"no workflow {run.workflow} any more")
        try:
            runner = self._runner(path)
        except Unusable as error:
            return self._ended(run, "interrupted", error=str(error))
        self._at_work[run.run_id] = runner
        try:
            said = self._conversation(runner, run)
        except (Broken, Superseded) as error:
            self._at_work[run.run_id] = None
            self._pool.retire(runner, now=True)
            if self._stopping or isinstance(error, Superseded):
                return "left"
            log.warning("a process died at a workflow", run=run.run_id, how=runner.ended())
            self._again.add(run.run_id)
            return "goes on"
        except BaseException:
            self._pool.retire(runner, now=True)
            raise
        self._at_work[run.run_id] = None
        if said.get("spent"):
            self._pool.retire(runner)
        else:
            self._pool.give_back(runner)
        return self._told(run, said)

    def _runner(self, path: Path) -> Process:
        found = self._pool.take(path, source(path)[1])
        assert isinstance(found, Process)
        return found

    def _told(self, run: RunRecord, said: Document) -> str:
        match said:
            case {"waits": _}:
                return "waits"
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

    def _conversation(self, runner: Process, run: RunRecord) -> Document:
        """Raises Broken, Superseded."""
        clock = self._environment.monotonic
        until = clock() + runner.deadline
        runner.channel.send({"do": "workflow", "input": run.input})
        while True:
            said = runner.channel.receive(max(until - clock(), 0.0))
            if said is None:
                return {"failed": f"not through after {runner.deadline:g} s", "spent": True}
            if "cancelled" in said:
                raise Broken("interrupted")
            if not isinstance(said.get("ask"), dict):
                return said
            runner.channel.send(self._store.write(partial(_answer, run=run, ask=said["ask"])))


def _answer(tx: Tx, *, run: RunRecord, ask: Document) -> Document:
    match ask:
        case {"step": "begin", "name": str() as name, "manual": bool() as manual}:
            return _shown(workflow_steps.begin(tx, run, name, manual=manual))
        case {"step": "checkpoint", "name": str() as name}:
            return _shown(workflow_steps.checkpoint(tx, run, name))
        case {"step": "end", "name": str() as name, "error": str() as error}:
            workflow_steps.end(tx, run, name, error=error)
        case {"step": "end", "name": str() as name}:
            workflow_steps.end(tx, run, name, result=ask.get("result"))
        case _:
            raise Broken("a workflow asked for what it may not ask")
    return {"next": "ok"}


def _shown(found: StepRecord | workflow_steps.Next) -> Document:
    if isinstance(found, StepRecord):
        return {"next": found.state, "result": found.result, "error": found.error}
    return {"next": found}
