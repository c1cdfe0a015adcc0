"""Runs whose steps DBOS keeps: the server's side, which holds up the worker that speaks to DBOS."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

import structlog

from controllers.definitions.carrier import Died, answer
from controllers.definitions.channel import Broken, Garbled, Stuck
from controllers.definitions.loading import Unusable
from controllers.definitions.processes import Limits, Process, reap
from controllers.runtime.patience import Patience
from resources.canonical import Document
from resources.workflow_run import RunRecord
from store import workflow_runs, workflow_steps
from store.environment import Environment
from store.store import Store
from store.tx import Tx
from store.workflow_steps import Superseded

log = structlog.get_logger("rmctl.workflow")
MODULE = "controllers.definitions.dbos_worker"
LOAD_SECONDS = 60.0
GRACE_SECONDS = 10.0
PING_SECONDS = 5.0
MOST_UNANSWERED = 12
"""A worker that leaves so many pings in a row unanswered hangs, and is ended as if it had died."""
LOST = "go on without the steps that workflows.db has lost"
Talk = SimpleQueue[Document | None]


class Worker:
    """One worker process and the talks with its runs. A talk ends with None when the process does."""

    def __init__(self, store: Store, file: Path, limits: Limits, notes: Path) -> None:
        """Raises Unusable when it does not come up."""
        if find_spec("dbos") is None:
            raise Unusable("the engine dbos needs the extra workflows of rmctl: pip install 'rmctl[workflows]'")
        self._store = store
        self._talks: dict[str, Talk] = {}
        self._lock = threading.Lock()
        self._over = False
        self._ended = threading.Event()
        self._outbox: SimpleQueue[Document] = SimpleQueue()
        self._unanswered = 0
        runners = notes.with_name("workflow-runners")
        reap(runners)
        patient = Limits(0, max(limits.load_seconds, LOAD_SECONDS), GRACE_SECONDS, limits.pass_on)
        self.process = Process(file, "-", patient, notes, module=MODULE)
        self._told({"do": "setup", **asdict(limits), "pass_on": list(limits.pass_on), "notes": str(runners)})
        said = self.process.load()
        if "loaded" not in said:
            self.process.end(now=True)
            raise Unusable(str(said.get("unusable")))
        for work in (self._read, self._write, self._watch):
            name = f"workflow-worker-{self.process.pid}{work.__name__}"
            threading.Thread(target=work, name=name, daemon=True).start()

    @property
    def alive(self) -> bool:
        try:
            return not self._over and self.process.alive
        except ChildProcessError:  # seen to its end by another thread just now
            return False

    def talk(self, run_id: str) -> Talk:
        with self._lock:
            made = self._talks[run_id] = Talk()
            if self._over:
                made.put(None)
        return made

    def tell(self, message: Document) -> None:
        """Waits for nothing: a worker that hangs, or is gone, is noticed by who listens."""
        self._outbox.put(message)

    def _write(self) -> None:
        while not self._ended.is_set():
            self._told(self._outbox.get())

    def _told(self, message: Document) -> None:
        try:
            self.process.channel.send(message)
        except Stuck:
            self.process.signal(signal.SIGKILL)
        except Broken:
            return

    def _watch(self) -> None:
        while not self._ended.wait(PING_SECONDS):
            if self._unanswered >= MOST_UNANSWERED:
                log.error("the worker of workflows hangs and is ended", pid=self.process.pid)
                self.process.signal(signal.SIGKILL)
                return
            self._unanswered += 1
            self.tell({"do": "ping"})

    def _read(self) -> None:
        try:
            while (said := self.process.channel.receive()) is not None:
                self._heard(said)
        except (Broken, OSError):
            self.process.end(now=True)
        self._ended.set()
        self.tell({"do": "ping"})  # the writing thread looks up once more
        with self._lock:
            self._over = True
            talks = tuple(self._talks.values())
        for one in talks:
            one.put(None)

    def _heard(self, said: Document) -> None:
        if "pong" in said:
            self._unanswered = 0
            return
        if "known" in said:
            with self._store.read() as tx:
                gone = workflow_runs.unknown(tx, said["known"])
            self.tell({"do": "drop", "ids": list(gone)})
            return
        with self._lock:
            talk = self._talks.get(str(said.get("run")))
        if talk is not None:
            talk.put(said)


class DbosCarrier:
    """The worker comes with the first run, and again after it has died."""

    name = "dbos"

    def __init__(self, store: Store, environment: Environment, file: Path, limits: Limits, notes: Path) -> None:
        self._store = store
        self._patience = Patience(store, environment)
        self._file = file
        self._limits = limits
        self._notes = notes
        self._worker: Worker | None = None
        self._starting = threading.Lock()
        self._stopping = threading.Event()

    def ready(self, told: Callable[[str], None]) -> bool:
        seconds = 1.0
        with self._starting:
            while not self._stopping.is_set():
                if self._worker is not None and self._worker.alive:
                    return True
                try:
                    self._worker = Worker(self._store, self._file, self._limits, self._notes)
                    if self._stopping.is_set():
                        self._worker.process.end()
                except Unusable as error:
                    log.error("the worker of workflows does not come up", error=str(error))
                    told(f"the worker of workflows does not come up: {error}")
                    self._stopping.wait(seconds)
                    seconds = min(seconds * 2, 30.0)
        return False

    def carry(self, run: RunRecord, path: Path) -> Document:
        worker = self._worker
        assert worker is not None
        talk = worker.talk(run.run_id)
        worker.tell(self._message(run, path))
        superseded, wrong = False, None
        while (said := talk.get()) is not None and "over" not in said:
            try:
                reply = self._patience.write(partial(_heard, run=run, said=said))
            except Superseded:
                superseded = True
                worker.tell({"do": "cancel", "run": run.run_id})
                continue
            except Garbled as error:
                wrong = {"failed": f"the workflow said {error}"}
                worker.tell({"do": "cancel", "run": run.run_id})
                continue
            if "ask" in said:
                worker.tell({"do": "answer", "run": run.run_id, "answer": reply})
        if said is None:
            raise Died(worker.process.ended())
        if superseded:
            raise Superseded(run.run_id)
        return wrong or self._last(run, said["over"])

    def interrupt(self, run_id: str) -> None:
        if self._worker is not None:
            self._worker.tell({"do": "cancel", "run": run_id})

    def stop(self) -> None:
        self._stopping.set()
        self._patience.stop()
        if self._worker is not None:
            self._worker.process.end()

    def _message(self, run: RunRecord, path: Path) -> Document:
        with self._store.read() as tx:
            ids, forked = workflow_runs.lineage(tx, run)
            behind = () if forked is None else workflow_runs.lineage(tx, forked)[0]
        return {
            "do": "run",
            "ids": list(ids),
            "behind": list(behind),
            "workflow": run.workflow,
            "input": run.input,
            "path": str(path),
            "fresh": self._patience.write(partial(_fresh, run=run)),
        }

    def _last(self, run: RunRecord, over: Document) -> Document:
        match over:
            case {"unusable": str() as why}:
                raise Unusable(why)
            case {"left": str() as how}:
                raise Died(how)
            case {"cancelled": _}:
                raise Superseded(run.run_id)
            case {"lost": _}:
                self._patience.write(partial(workflow_steps.checkpoint, run=run, name=LOST))
                return {"waits": LOST}
            case _:
                return over


def _heard(tx: Tx, *, run: RunRecord, said: Document) -> Document | None:
    if "ask" in said:
        return answer(tx, run=run, ask=said["ask"])
    note = said["note"]
    workflow_steps.note(tx, run, str(note["name"]), note["state"], note["error"])
    return None


def _fresh(tx: Tx, *, run: RunRecord) -> bool:
    """Whether a run of which DBOS knows nothing may begin: nothing was done in it, or a person has said so."""
    steps = workflow_steps.of(tx, run.run_id)
    if any(one.name == LOST and one.state == "done" for one in steps):
        workflow_steps.forget(tx, run, LOST)
        return True
    return all(one.manual or one.state == "started" for one in steps)
