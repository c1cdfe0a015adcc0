"""The pool of runners: one that stands ready for a digest is used again, all others come and go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from controllers.definitions.lending import Lending
from controllers.definitions.loading import Unusable
from controllers.definitions.processes import Limits, Process
from controllers.definitions.workbench import Workbench
from resources.canonical import Document

MAX_IDLE = 8
UNUSABLE_SECONDS = 10.0
UNUSABLE_TIMES = 2.0
"""A file that could not be loaded is left alone for this many times as long as it took to find out."""


class Pool:
    """Used by many threads; a process that was taken belongs to its taker."""

    def __init__(self, limits: Limits, notes: Path | None, clock: Callable[[], float]) -> None:
        self.limits = limits
        self.lending = Lending(limits)
        self._clock = clock
        self._notes = notes
        self._lock = threading.Lock()
        self._idle: list[Process] = []
        self._out: set[Process] = set()
        self._unusable: dict[tuple[Path, str], tuple[float, str]] = {}
        self._closed = False

    def take(self, path: Path, digest: str, project: str = "") -> Process | Workbench:
        """A runner that has loaded this file in just these words, or the terminal of who works on it for the project.

        Raises Unusable.
        """
        borrowed = self.lending.borrowed(project, path)
        if borrowed is not None:
            return borrowed
        with self._lock:
            usable = [one for one in self._idle if one.alive and one.channel.quiet]
            stale = [one for one in self._idle if one not in usable or (one.path == path and one.digest != digest)]
            fit = next((one for one in usable if (one.path, one.digest) == (path, digest)), None)
            self._idle = [one for one in self._idle if one not in stale and one is not fit]
            if fit is not None:
                self._out.add(fit)
        for one in stale:
            one.end()
        return fit or self._begun(path, digest)

    def give_back(self, process: Process | Workbench, said: Document) -> None:
        """It waits for its next pass, unless its last word says that it cannot or it was interrupted.

        One of which threads are `busy` still is ended at once. The one that has waited longest goes when there are too
        many.
        """
        if isinstance(process, Workbench) or process.interrupted or not _fit(said):
            self.retire(process, now="busy" in said)
            return
        with self._lock:
            self._out.discard(process)
            if not self._closed:
                self._idle.append(process)
            gone = [process] if self._closed else [self._idle.pop(0)] if len(self._idle) > MAX_IDLE else []
        for one in gone:
            one.end()

    def retire(self, process: Process | Workbench, *, now: bool = False) -> None:
        """It is not used again; `now` asks nothing of it."""
        if isinstance(process, Process):
            with self._lock:
                self._out.discard(process)
        process.end(now=now)

    def close(self) -> None:
        """Every runner is asked to end; those at work belong to their takers still."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            out = tuple(self._out)
        for one in out:
            one.interrupt()
        for one in idle:
            one.end()

    def _begun(self, path: Path, digest: str) -> Process:
        """A file that could not be loaded is not tried again at once, nor by many, nor for most of the time."""
        key, began = (path, digest), self._clock()
        with self._lock:
            until, why = self._unusable.get(key, (0.0, ""))
            if why and began < until:
                raise Unusable(why)
            if why:
                self._unusable[key] = (began + self.limits.load_seconds + self.limits.grace_seconds, why)
        try:
            process = self._started(path, digest)
        except Unusable as error:
            now = self._clock()
            with self._lock:
                self._unusable = {one: told for one, told in self._unusable.items() if told[0] > now}
                self._unusable[key] = (now + max(UNUSABLE_SECONDS, UNUSABLE_TIMES * (now - began)), str(error))
            raise
        with self._lock:
            self._unusable.pop(key, None)
        return process

    def _started(self, path: Path, digest: str) -> Process:
        process = Process(path, digest, self.limits, self._notes)
        with self._lock:
            self._out.add(process)
            closed = self._closed
        if closed:
            process.interrupt()
        said = process.load()
        match said:
            case {"loaded": str(), "deadline": int() | float() as deadline} if deadline > 0:
                process.deadline = float(deadline)
                return process
        self.retire(process, now=True)
        raise Unusable(str(said.get("unusable", f"{path}: it said what is no message")))


def _fit(said: Document) -> bool:
    return not {"spent", "busy", "cancelled"} & said.keys()
