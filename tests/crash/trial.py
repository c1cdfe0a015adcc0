"""One trial: a forked server killed at a line, a second one on what is left, and what it found broken."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import struct
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from mmap import mmap
from pathlib import Path
from typing import Any

from tests.crash.invariants import broken, settled
from tests.crash.life import Life
from tests.crash.lines import Lines
from tests.crash.stories import GONE, STORIES, Story
from tests.simulation.scheduler import Stuck

START = 1_700_000_000.0
PAUSE_SECONDS = 1.0
"""Between a death and the next start."""
BY_NAME = {story.name: story for story in STORIES}


@dataclass(frozen=True)
class Found:
    """`lines` were executed until the end or the kill; `problems` are empty when everything holds.

    `spans` are the first lines of stretches in which the files stay as they are, byte for byte.
    """

    lines: int
    problems: tuple[str, ...]
    places: int = 0
    spans: tuple[int, ...] = ()


class Place:
    """Folders of one worker: the beginning of each story, and where trials run."""

    def __init__(self, folder: Path, trial: str = "trial") -> None:
        self.folder = folder
        self._trial = folder / trial
        self._clock = mmap(-1, 8)

    def prepare(self, names: Sequence[str]) -> dict[str, Found]:
        """Tell these stories, and what comes before them, once in this process, and keep what each left; then count.

        So the children of trials inherit what is compiled once, and execute the lines that were counted.
        """
        for story in STORIES:
            if story.name not in _with_beginnings(names):
                continue
            where = self._fresh(story)
            life = Life(where, Lines(), seed=2 * STORIES.index(story), start=self._get_clock())
            life.run(story.tell, settled)
            life.drop()
            (where / "acknowledged").unlink(missing_ok=True)
            (where / "clock").write_text(str(life.scheduler.now))
            shutil.copytree(where, self.folder / story.name)
        return {name: self._whole(BY_NAME[name]) for name in names}

    def trials(self, points: Sequence[tuple[str, int]], jobs: int) -> Iterator[tuple[tuple[str, int], Found]]:
        """As they come in, from so many processes at once."""
        workers = []
        for number in range(jobs):
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                self._some(points[number::jobs], number, writing)
            os.close(writing)
            workers.append((child, os.fdopen(reading)))
        for child, lines in workers:
            with lines:
                for line in lines:
                    name, at, problems = json.loads(line)
                    yield (name, at), Found(at, tuple(problems))
            os.waitpid(child, 0)

    def _some(self, points: Sequence[tuple[str, int]], number: int, writing: int) -> None:
        place = Place(self.folder, f"trial-{number}")
        with os.fdopen(writing, "w") as told:
            for name, at in points:
                found = place.trial(BY_NAME[name], at)
                told.write(json.dumps([name, at, found.problems]) + "\n")
                told.flush()
        os._exit(0)

    def trial(self, story: Story, kill_at: int) -> Found:
        """Killed at that line, started again, looked at."""
        where = self._fresh(story)
        lines = Lines(kill_at)
        status = self._forked(lambda: self._live(story, where, lines), where / "first")
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not killed:
            return Found(kill_at, (f"NOT_KILLED {_told(where / 'first')}",))
        status = self._forked(lambda: self._again(story, where), where / "second")
        told = _told(where / "second")
        return Found(kill_at, tuple(told if isinstance(told, list) else [f"DIED {status} {told}"]))

    def _whole(self, story: Story) -> Found:
        where = self._fresh(story)
        lines = Lines()

        def tell() -> Any:
            lines.count_writes()
            problems = self._live(story, where, lines)
            return {"lines": lines.count, "places": len(lines.places), "spans": lines.spans, "problems": problems}

        status = self._forked(tell, where / "first")
        told = _told(where / "first")
        if not isinstance(told, dict):
            raise RuntimeError(f"{story.name} does not come to its end, status {status}: {told}")
        spans = self._divided(story, [*told["spans"], told["lines"] + 1])
        return Found(told["lines"], tuple(told["problems"]), told["places"], tuple(spans))

    def _divided(self, story: Story, bounds: Sequence[int]) -> list[int]:
        """Spans at each of whose lines the files are the same: a folder made, or a file cut off, is no write.

        Bytes are compared at the ends of every span, and at each line of one whose ends differ.
        """
        spans = [range(first, beyond) for first, beyond in pairwise(bounds)]
        seen = self._files_at(story, {line for span in spans for line in (span[0], span[-1])})
        moved = [span for span in spans if seen[span[0]] != seen[span[-1]]]
        seen |= self._files_at(story, {line for span in moved for line in span})
        more = [line for span in moved for before, line in pairwise(span) if seen[before] != seen[line]]
        return sorted([*bounds[:-1], *more])

    def _files_at(self, story: Story, wanted: Collection[int]) -> dict[int, str]:
        """Digests of what a death at these lines leaves."""
        where = self._fresh(story)
        lines = Lines()
        seen: dict[int, str] = {}

        def tell() -> Any:
            lines.look_at(wanted, lambda line: seen.update({line: left_in(where)}))
            self._live(story, where, lines)
            return list(seen.items())

        status = self._forked(tell, self.folder / "looked")
        told = _told(self.folder / "looked")
        if not isinstance(told, list):
            raise RuntimeError(f"{story.name} does not come to its end, status {status}: {told}")
        return dict(told)

    def _fresh(self, story: Story) -> Path:
        where = self._trial
        shutil.rmtree(where, ignore_errors=True)
        if story.after is None:
            where.mkdir(parents=True)
            self._set_clock(START)
        else:
            shutil.copytree(self.folder / story.after, where)
            self._set_clock(float((where / "clock").read_text()))
        return where

    def _live(self, story: Story, where: Path, lines: Lines) -> list[str]:
        life = Life(where, lines, seed=2 * STORIES.index(story), start=self._get_clock())
        life.ticked = self._set_clock
        life.run(story.tell, settled)
        return self._problems(life, story)

    def _again(self, story: Story, where: Path) -> list[str]:
        life = Life(where, Lines(), seed=2 * STORIES.index(story) + 1, start=self._get_clock() + PAUSE_SECONDS)
        stuck = []
        try:
            life.run(lambda _life: None, settled)
        except Stuck as error:
            stuck = [f"NO_CONVERGENCE within {error}"]
        return stuck + self._problems(life, story)

    def _problems(self, life: Life, story: Story) -> list[str]:
        before = GONE if story.after in (None, "start") else BY_NAME[story.after].wants[-1]
        return list(broken(life, story.wants, before))

    def _set_clock(self, now: float) -> None:
        struct.pack_into("d", self._clock, 0, now)

    def _get_clock(self) -> float:
        (now,) = struct.unpack_from("d", self._clock, 0)
        return float(now)

    def _forked(self, work: Callable[[], Any], answer: Path) -> int:
        """Exit status of a child that did this work, and wrote what it returned."""
        child = os.fork()
        if child == 0:
            try:
                told = work()
            except BaseException:
                told = traceback.format_exc()
            answer.write_text(json.dumps(told), encoding="utf-8")
            os._exit(0)
        return os.waitpid(child, 0)[1]


def left_in(folder: Path) -> str:
    """A digest of what the death of its process would leave; the shared index is made anew by whoever opens next."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if not path.name.endswith("-shm"):
            digest.update(path.name.encode() + (path.read_bytes() if path.is_file() else b"/"))
    return digest.hexdigest()


def _with_beginnings(names: Sequence[str]) -> set[str]:
    found = set(names)
    for story in reversed(STORIES):
        if story.name in found and story.after is not None:
            found.add(story.after)
    return found


def _told(answer: Path) -> Any:
    return json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else "nothing"
