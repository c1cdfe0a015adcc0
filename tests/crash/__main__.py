"""Kill the server, then an agent, wherever it matters: `python -m tests.crash [STRIDE [OFFSET]]`.

What the death of a server leaves is its files. They are compared byte for byte along a run, and of each stretch of
lines in which they stay the same one is drawn: STRIDE 1 kills at every state that a death at any line can leave. With
`--lines` every line counts as one of its own. Of an agent, and of the shim of its job, every line of a start counts.
OFFSET is drawn unless given.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before anything that brings threads along: they do not fork

import anyio
import structlog

from tests.crash import agent_side, shim_side
from tests.crash.trial import BY_NAME, Found, Place

MEMORY = Path("/dev/shm")


def server(stride: int, offset: int | None, *, lines: bool, jobs: int, names: Sequence[str]) -> int:
    offset = time.time_ns() // 1000 % stride if offset is None else offset
    with tempfile.TemporaryDirectory(prefix="rmctl-crash-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        place = Place(Path(folder))
        whole = place.prepare(names)
        for name, found in whole.items():
            words = f"{found.lines} lines at {found.places} places, {len(found.spans)} states of the files"
            print(f"{name}: {words}", *found.problems, flush=True)
        if any(found.problems for found in whole.values()):
            return 1
        points = [*chosen(whole, Random(offset), lines=lines)][offset::stride]
        return _report(place, points, f"server, stride {stride} offset {offset}", jobs)


def chosen(whole: dict[str, Found], random: Random, *, lines: bool) -> Iterator[tuple[str, int]]:
    """(story, line) in order: one line drawn from each span, or all of them."""
    for name, found in whole.items():
        if lines:
            yield from ((name, line) for line in range(1, found.lines + 1))
        else:
            for first, beyond in zip(found.spans, (*found.spans[1:], found.lines + 1), strict=True):
                yield name, random.randrange(first, beyond)


def _report(place: Place, points: list[tuple[str, int]], words: str, jobs: int) -> int:
    began = time.perf_counter()
    results: Counter[str] = Counter()
    for (name, line), found in place.trials(points, jobs):
        results["ok"] += not found.problems
        for problem in found.problems:
            what = problem.split()[0]
            results[what] += 1
            if results[what] <= 5:
                print(f"{name} line {line}: {problem}", flush=True)
    seconds = time.perf_counter() - began
    told = ", ".join(f"{count} {what}" for what, count in results.items())
    print(f"{words}: {len(points)} kills in {seconds:.0f} s ({len(points) / seconds:.1f}/s): {told}")
    return int(results["ok"] != len(points))


async def agent(stride: int, offset: int | None) -> int:
    offset = time.time_ns() // 1000 % stride if offset is None else offset
    kills, wrong = 0, 0
    for whose, side in (("agent", agent_side), ("shim", shim_side)):
        with tempfile.TemporaryDirectory(prefix="rmctl-crash-") as folder:
            async for line, problem in side.trials(Path(folder), stride, offset):
                kills += 1
                wrong += bool(problem)
                if problem:
                    print(f"StartJob, {whose}, line {line}: {problem}", flush=True)
    print(f"agent and shim, stride {stride} offset {offset}: {kills} kills, {wrong} wrong")
    return int(wrong > 0)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stride", nargs="?", type=int, default=1)
    parser.add_argument("offset", nargs="?", type=int)
    parser.add_argument("--lines", action="store_true", help="every line is one of its own")
    parser.add_argument("--story", action="append", choices=list(BY_NAME), help="of the server; repeatable")
    parser.add_argument("--agent-stride", type=int, metavar="N", help="STRIDE unless given; 0: the server only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(words)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    code = server(asked.stride, asked.offset, lines=asked.lines, jobs=asked.jobs, names=asked.story or list(BY_NAME))
    agent_stride = asked.stride if asked.agent_stride is None else asked.agent_stride
    if agent_stride and not code:
        code = anyio.run(agent, agent_stride, None)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
