"""One child run in the worker: its runner does the work, and what each step gave is told to a recorder."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from controllers.definitions.channel import Broken, Garbled
from controllers.definitions.conversation import converse
from controllers.definitions.loading import Unusable, source
from controllers.definitions.pool import Pool
from controllers.definitions.processes import Process
from resources.canonical import Document, fingerprint, without

Record = Callable[[str, Document], Document]
"""Puts what a step gave on record under its name, or finds what is there from an earlier time."""
FORKED = "rmctl.forked-from:"
"""Begins the name of the step behind which a fork's own steps come."""


class Run:
    """As the server asked for it; used up by one execution."""

    def __init__(self, message: Document, send: Callable[[Document], None], clock: Callable[[], float]) -> None:
        self.ids: list[str] = message["ids"]
        self.id = self.ids[0]
        self.kept_as = self.id
        """The one of its ids under which DBOS keeps it: an attempt goes on as the interrupted one before it."""
        self.behind: list[str] = message["behind"]
        self.given: Document = {"workflow": message["workflow"], "input": message["input"]}
        self.fresh = bool(message["fresh"])
        self.begun = False
        self._path = Path(message["path"])
        self._send = send
        self._clock = clock
        self._known: dict[str, Document] = {}
        self._manual: set[str] = set()
        self._answers: queue.SimpleQueue[Document | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._cancelled = False
        self._runner: Process | None = None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.given)

    def tell(self, said: Document) -> None:
        self._send({"run": self.id, "over": said})

    def hear(self, answer: Document) -> None:
        """The server's answer to what was asked last."""
        self._answers.put(answer)

    def interrupt(self, *, now: bool = False) -> None:
        """Its execution ends as soon as it can; `now` asks nothing of the runner."""
        with self._lock:
            self._cancelled = True
            runner = self._runner
        self._answers.put(None)
        if runner is not None:
            runner.end(now=True) if now else runner.interrupt()

    def carry(self, recorded: Sequence[str], record: Record, pool: Pool) -> Document:
        """The last word. `result` and `failed` are the end; whatever else it is, the run may go on another time."""
        self._replay(recorded, record)
        try:
            runner = pool.take(self._path, source(self._path)[1])
        except Unusable as error:
            return {"unusable": str(error)}
        assert isinstance(runner, Process)
        try:
            self._has(runner)
            said = converse(runner, self.given["input"], lambda ask: self._answer(ask, record), self._clock)
        except Garbled as error:
            pool.retire(runner, now=True)
            return {"failed": f"the workflow said {error}"}
        except Broken:
            pool.retire(runner, now=True)
            return {"cancelled": True} if self._cancelled else {"left": runner.ended()}
        except BaseException:
            pool.retire(runner, now=True)
            raise
        finally:
            with self._lock:
                self._runner = None
        pool.give_back(runner, said)
        return without(said, "spent", "busy")

    def _has(self, runner: Process) -> None:
        with self._lock:
            if self._cancelled:
                raise Broken("interrupted")
            self._runner = runner

    def _replay(self, recorded: Sequence[str], record: Record) -> None:
        """Every step on record is taken from it in its order, so that the next one gets the number behind the last."""
        mark = [f"{FORKED}{one}" for one in self.behind[:1]]
        for name in [*recorded, *(one for one in mark if one not in recorded)]:
            found = record(name, {})
            if name.startswith(FORKED):  # a fork begins behind what is done, and tries again what failed
                self._known = {key: one for key, one in self._known.items() if "error" not in one}
            else:
                self._known[name] = found
        for name, found in self._known.items():
            self._note(name, found)

    def _answer(self, ask: Document, record: Record) -> Document:
        match ask:
            case {"step": "begin", "name": str() as name, "manual": False} if name in self._known:
                found = self._known[name]
                if "error" in found:
                    return {"next": "failed", "error": found["error"]}
                return {"next": "done", "result": found.get("result")}
            case {"step": "begin", "name": str() as name, "manual": False}:
                self._note(name, None)
                return {"next": "run"}
            case {"step": "end", "name": str() as name} if name not in self._manual:
                told: Document = {key: one for key, one in ask.items() if key in ("result", "error")}
                self._known[name] = record(name, told)
                self._note(name, told)
                return {"next": "ok"}
            case {"step": "begin" | "checkpoint", "name": str() as name}:
                self._manual.add(name)  # what must not be repeated on a guess is the server's to know
        return self._asked(ask)

    def _asked(self, ask: Document) -> Document:
        self._send({"run": self.id, "ask": ask})
        answer = self._answers.get()
        if answer is None:
            raise Broken("interrupted")
        return answer

    def _note(self, name: str, found: Document | None) -> None:
        state = "started" if found is None else "failed" if "error" in found else "done"
        error: Any = None if found is None else found.get("error")
        self._send({"run": self.id, "note": {"name": name, "state": state, "error": error}})
