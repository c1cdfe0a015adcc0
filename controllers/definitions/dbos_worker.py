"""The worker of the engine on DBOS: one process, in which each child run is a DBOS workflow and each step a DBOS step.

What a workflow file does runs in runners, as it does everywhere. A run that waits, or whose runner died, is cancelled
in DBOS's words, which leaves its steps; it is resumed when the server asks for it, and never by itself.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, SetWorkflowID
from dbos import error as dbos_errors

from controllers.definitions.channel import Channel
from controllers.definitions.dbos_run import Run
from controllers.definitions.pool import Pool
from controllers.definitions.processes import Limits
from controllers.runtime.environment import Threads
from resources.canonical import Document, fingerprint
from store.workflow_file import open_workflow_file

NAME = "rmctl"
VERSION = "1"
"""Of the way runs are kept. DBOS would take a hash of the source, and leave alone what another release has begun."""
QUEUE = "runs"
POLL_SECONDS = 0.2
GRACE_SECONDS = 4.0
AT_ONCE = 500
UNDER_WAY = ["PENDING", "ENQUEUED"]
BROKEN_FILE = 74


class Worker:
    """Its reading thread ends the process as soon as the server is gone."""

    def __init__(self, channel: Channel, path: Path) -> None:
        self._channel = channel
        self._path = path
        self._sending = threading.Lock()
        self._inbox: queue.SimpleQueue[Document] = queue.SimpleQueue()
        self._runs: dict[str, Run] = {}
        self._environment = Threads()
        self._ended = threading.Event()
        self._outside = ThreadPoolExecutor(1)
        """A thread outside of every workflow: what is asked of DBOS there is no step of one."""

    def run(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: self._inbox.put({"do": "stop"}))
        threading.Thread(target=self._channel.listen, args=(self._inbox.put,), daemon=True).start()
        self._pool = _pool(self._inbox.get())
        engine = open_workflow_file(self._path)
        self._launch(engine)
        self._send({"loaded": NAME, "deadline": 0.0})
        self._sweep()
        while (message := self._inbox.get())["do"] != "stop":
            self._do(message)
        self._end()
        DBOS.destroy()
        engine.dispose()

    def _launch(self, engine: Any) -> None:
        url = f"sqlite:///{self._path}"
        with engine.connect():
            pass  # the file is there, and writes ahead, before anybody else makes it
        DBOS.migrate(url)
        client = DBOSClient(system_database_engine=engine, serializer=DBOSPortableJSONSerializer())
        left = client.list_workflows(status=UNDER_WAY, load_input=False, load_output=False)
        client.cancel_workflows([one.workflow_id for one in left])
        client.destroy()
        DBOS(
            config={
                "name": NAME,
                "application_version": VERSION,
                "executor_id": f"{NAME}-{self._environment.uuid()}",
                "system_database_url": url,
                "system_database_engine": engine,
                "serializer": DBOSPortableJSONSerializer(),
                "log_level": "WARNING",
            }
        )

        @DBOS.workflow(name=NAME)
        def carry(given: Document) -> Document:  # noqa: ARG001  it stands in the file, to be compared
            kept_as = str(DBOS.workflow_id)
            return self._carry(next(one for one in tuple(self._runs.values()) if one.kept_as == kept_as))

        self._workflow = carry
        DBOS.launch()
        DBOS.register_queue(QUEUE, polling_interval_sec=POLL_SECONDS)

    def _carry(self, run: Run) -> Document:
        run.begun = True
        try:
            said = run.carry(self._recorded(run.kept_as), _record, self._pool)
            final = "result" in said or "failed" in said
            if not final:
                self._out(DBOS.cancel_workflow, run.kept_as)
        except Exception as error:  # noqa: BLE001  the file takes nothing: a fresh process may fare better
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(BROKEN_FILE)
        except BaseException:  # whoever else works on the file took the run away
            self._over(run, {"left": "taken away in DBOS"})
            raise
        self._over(run, said)
        if not final:
            raise dbos_errors.DBOSWorkflowCancelledError("set aside")
        return said

    def _over(self, run: Run, said: Document) -> None:
        self._runs.pop(run.id, None)
        self._ended.set()
        run.tell(said)

    def _recorded(self, run_id: str) -> list[str]:
        found = self._out(DBOS.list_workflow_steps, run_id, load_output=False)
        return [one["function_name"] for one in sorted(found, key=lambda one: int(one["function_id"]))]

    def _out(self, call: Any, *given: Any, **named: Any) -> Any:
        return self._outside.submit(call, *given, **named).result()

    def _do(self, message: Document) -> None:
        match message:
            case {"do": "run"}:
                self._begin(Run(message, self._send, self._environment.monotonic))
            case {"do": "answer", "run": str() as run_id, "answer": answer}:
                if run_id in self._runs:
                    self._runs[run_id].hear(answer)
            case {"do": "cancel", "run": str() as run_id}:
                if run_id in self._runs:
                    self._runs[run_id].interrupt()
            case {"do": "ping"}:
                self._send({"pong": True})
            case {"do": "drop", "ids": [*ids]}:
                DBOS.delete_workflows(list(map(str, ids)))

    def _begin(self, run: Run) -> None:
        """What DBOS holds under an id must be what the server means by it: DBOS itself would attach to anything."""
        found = _first(run.ids)
        same = found is not None and _fingerprint(found.input) == run.fingerprint
        mine = found is not None and found.workflow_id == run.id
        if mine and not same:
            run.tell({"interrupted": "DBOS holds another input under this id"})
        elif mine and found.status == "ERROR":
            run.tell({"interrupted": f"DBOS holds an error: {found.error}"})
        elif same and found.status == "SUCCESS":
            run.tell(found.output or {})
        elif same and found.status != "ERROR":
            self._resumed(run, found.workflow_id)
        elif same:
            run.behind = [found.workflow_id]
            self._started(run, found.workflow_id)
        else:
            behind = _first(run.behind)
            if behind is not None and _fingerprint(behind.input) == run.fingerprint:
                self._started(run, behind.workflow_id)
            elif run.fresh:
                run.behind = []
                self._started(run, None)
            else:
                run.tell({"lost": True})

    def _resumed(self, run: Run, kept_as: str) -> None:
        run.kept_as = kept_as
        self._runs[run.id] = run
        DBOS.resume_workflow(kept_as, queue_name=QUEUE)

    def _started(self, run: Run, behind: str | None) -> None:
        self._runs[run.id] = run
        with SetWorkflowID(run.id):
            if behind is None:
                DBOS.start_workflow(self._workflow, run.given)
            else:
                step = len(DBOS.list_workflow_steps(behind, load_output=False)) + 1
                DBOS.fork_workflow(behind, step, application_version=VERSION, queue_name=QUEUE)

    def _sweep(self) -> None:
        """Runs that the server knows nothing of, since their resources are long gone, are dropped."""
        ids = [one.workflow_id for one in DBOS.list_workflows(load_input=False, load_output=False)]
        for start in range(0, len(ids), AT_ONCE):
            self._send({"known": ids[start : start + AT_ONCE]})

    def _end(self) -> None:
        """Every run is set aside before DBOS ends: one that ended with it could be held as failed for good."""
        self._pool.close()
        clock = self._environment.monotonic
        for now in (False, True):
            under_way = [one for one in tuple(self._runs.values()) if one.begun]
            for run in under_way:
                run.interrupt(now=now)
            over = clock() + GRACE_SECONDS
            while any(one.id in self._runs for one in under_way) and (left := over - clock()) > 0:
                self._ended.wait(left)
                self._ended.clear()

    def _send(self, message: Document) -> None:
        with self._sending:
            self._channel.send(message)


def _record(name: str, told: Document) -> Document:
    found: Document = DBOS.run_step({"name": name}, lambda: told)
    return found


def _first(ids: Sequence[str]) -> Any:
    """What DBOS holds under the first of these ids that it knows."""
    return next((found for one in ids if (found := DBOS.get_workflow_status(one)) is not None), None)


def _fingerprint(held: Any) -> str:
    args = (held or {}).get("args") or [None]
    return fingerprint(args[0])


def _pool(setup: Document) -> Pool:
    limits = Limits(
        memory_bytes=int(setup["memory_bytes"]),
        load_seconds=float(setup["load_seconds"]),
        grace_seconds=float(setup["grace_seconds"]),
        pass_on=tuple(setup["pass_on"]),
    )
    return Pool(limits, Path(setup["notes"]), Threads().monotonic)


def main(words: list[str]) -> None:
    """`FD _ _ PATH`, as for a runner."""
    descriptor, _, _, path = words
    os.set_inheritable(int(descriptor), False)
    Worker(Channel(socket.socket(fileno=int(descriptor))), Path(path)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
