"""The folder of one instance: what agent and shim write down about it, each file in one step."""

from __future__ import annotations

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from agent.files import PRIVATE_FILE, PRIVATE_FOLDER, read_json, replace_json
from resources.canonical import Document


@dataclass(frozen=True)
class JobFile:
    """The job's main process: `started` in seconds since boot, `at` by the wall clock."""

    pid: int
    start_time: int
    at: float
    started: float


@dataclass(frozen=True)
class ShimFile:
    pid: int
    start_time: int
    boot_id: str


@dataclass(frozen=True)
class ExitFile:
    code: int | None
    signal: int | None
    at: float
    ran_seconds: float
    reason: str


class Folder:
    """`path` ends with the instance's id."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, order: Document) -> None:
        self.path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        replace_json(self.path / "instance.json", order)

    def order(self) -> Document | None:
        return read_json(self.path / "instance.json")

    def shim(self) -> ShimFile | None:
        found = read_json(self.path / "shim.json")
        return None if found is None else ShimFile(**found)

    def job(self) -> JobFile | None:
        found = read_json(self.path / "job.json")
        return None if found is None else JobFile(**found)

    def exit(self) -> ExitFile | None:
        found = read_json(self.path / "exit.json")
        return None if found is None else ExitFile(**found)

    def ask_to_stop(self, reason: str, grace: float) -> None:
        replace_json(self.path / "stop.json", {"reason": reason, "grace": grace})

    @property
    def stop_asked(self) -> bool:
        return (self.path / "stop.json").exists()

    def ready_at(self) -> float | None:
        found = read_json(self.path / "ready.json")
        return None if found is None else float(found["at"])

    def set_ready(self, at: float) -> None:
        replace_json(self.path / "ready.json", {"at": at})

    @property
    def told(self) -> bool:
        """The server has this instance's end."""
        return (self.path / "told").exists()

    def set_told(self) -> None:
        self._touch("told")

    @property
    def output_told(self) -> bool:
        """The server has the last words of this instance, which has ended."""
        return (self.path / "output-told").exists()

    def set_output_told(self) -> None:
        self._touch("output-told")

    def _touch(self, name: str) -> None:
        if self.path.exists():
            (self.path / name).touch(PRIVATE_FILE)

    def lock(self) -> int | None:
        """The instance's flock on a new descriptor, or None while a shim (or a start under way) holds it."""
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    def held(self) -> bool:
        """Whether a shim lives, told by the lock alone: no pid can be mistaken for another's."""
        handle = self.lock()
        if handle is None:
            return True
        os.close(handle)
        return False

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
