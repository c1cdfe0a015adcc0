"""From a trace to states of the disk, and what each of them holds."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from controllers.runtime.environment import Threads
from store import resources
from store.store import Store
from tests.powerloss.disk import Disk, Event, Fate, events

OPENED_EVERY = 10
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FATES: tuple[Fate, ...] = ("none", "all", "some", "some", "some", "some", "some", "some")


@dataclass
class Survey:
    """`outcomes` counts states by what they hold; `most_lost` acknowledged names were missing in one of them."""

    states: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    most_lost: int = 0

    def __str__(self) -> str:
        told = ", ".join(f"{count} {what}" for what, count in sorted(self.outcomes.items()))
        return f"{self.states} states: {told}; at most {self.most_lost} acknowledged commits lost"


def trace(folder: Path, synchronous: str) -> list[Event]:
    """One real run of the store under the tracer. Raises RuntimeError without a C compiler."""
    if shutil.which("cc") is None:
        raise RuntimeError("the tracer is compiled by cc: install gcc and libc6-dev")
    library = folder / "trace.so"
    compiler = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(HERE / "trace.c"), "-ldl"]
    subprocess.run(compiler, check=True)
    data = folder / f"data-{synchronous}"
    data.mkdir()
    into = folder / f"trace-{synchronous}"
    environment = os.environ | {"LD_PRELOAD": str(library), "TRACE_BELOW": str(data), "TRACE_INTO": str(into)}
    command = [sys.executable, "-m", "tests.powerloss.run", str(data), synchronous]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return list(events(into.read_bytes()))


def explore(traced: list[Event], states: int, seed: int, folder: Path) -> Survey:
    """So many power losses, spread over the run."""
    random = Random(seed)
    at = Counter(random.randrange(len(traced)) for _ in range(states))
    disk, told, survey = Disk(), set[str](), Survey()
    for number, event in enumerate(traced):
        if event.path.name == "acknowledged":
            told |= set(event.data.decode().split())
        else:
            disk.follow(event)
        for _ in range(at[number]):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            disk.lose(random.choice(FATES), random, folder)
            _look(folder / "state.db", told, survey)
    return survey


def _look(path: Path, told: set[str], survey: Survey) -> None:
    survey.states += 1
    try:
        found = _names(path) if survey.states % OPENED_EVERY else _opened(path.parent)
    except sqlite3.DatabaseError as error:
        survey.outcomes[f"damaged ({error})"] += 1
        return
    lost = told - found
    survey.most_lost = max(survey.most_lost, len(lost))
    survey.outcomes["lost" if lost else "whole"] += 1


def _opened(folder: Path) -> set[str]:
    """The same through the store, which checks its rows and finishes what the run had only begun to set up."""
    store = Store.open(folder, Threads())
    try:
        with store.read() as tx:
            return {bundle.name for bundle in resources.list_all(tx, "bundle")}
    finally:
        store.close()


def _names(path: Path) -> set[str]:
    """Names of the stored resources. Raises DatabaseError for a damaged file."""
    if not path.exists():
        return set()
    file = sqlite3.connect(path)
    try:
        (health,) = file.execute("PRAGMA integrity_check").fetchone()
        if health != "ok":
            raise sqlite3.DatabaseError(health)
        made = file.execute("SELECT 1 FROM sqlite_master WHERE name = 'resources'").fetchone()
        return {name for (name,) in file.execute("SELECT name FROM resources")} if made else set()
    finally:
        file.close()
