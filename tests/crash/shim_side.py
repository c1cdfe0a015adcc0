"""kill -9 of a job's shim at the lines before its agent knows of the job: it starts once, or has ended."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from pathlib import Path

from controllers.providers.agent_commands import StartJob
from resources.effect import Applied, Deferred
from tests.agent_world import World, a_world, attempt
from tests.crash.shim_lines import SIZE, first

COMMAND = ["sh", "-c", "echo $$ >> starts; exec sleep 1000"]


async def trials(folder: Path, stride: int, offset: int) -> AsyncIterator[tuple[int, str]]:
    """(line, what was wrong) for every `stride`th line; empty words when nothing was."""
    async with a_world(folder) as world:
        count = await lines_of_a_start(world)
        for line in range(1 + offset, count + 1, stride):
            yield line, await trial(world, line)


async def lines_of_a_start(world: World) -> int:
    """How many lines of a shim one start takes, and nobody is killed."""
    counter = _counter(world)
    agent = await world.agent(first=first(str(counter), 0))
    job = world.job(command=COMMAND)
    await world.send(job)
    await world.state(job, "ready")
    (count,) = struct.unpack_from("q", counter.read_bytes())
    await _tidy(world, job)
    await agent.kill()
    return int(count)


async def trial(world: World, line: int) -> str:
    """What the agent answers is so: it did not happen, or it did and has ended by now."""
    agent = await world.agent(first=first(str(_counter(world)), line))
    job = world.job(command=COMMAND)
    answer = await world.send(job)
    told = ""
    match answer:
        case Deferred():
            if _starts(world, job):
                told = f"it says {answer}, and the job ran"
        case Applied():
            ended = await world.state(job, "exited", "ready")
            if ended.state == "exited" and ended.reason != "its shim was killed":
                told = f"it ended: {ended.reason}"
            job = attempt(job, 2) if ended.state == "exited" else job
        case _:
            told = f"it says {answer}"
    before = len(_starts(world, job))
    again = await world.send(job)
    running = await world.state(job, "ready")
    starts = _starts(world, job)
    if not told and (not isinstance(again, Applied) or starts[-1:] != [str(running.pid)] or len(starts) > before + 1):
        told = f"asked again it says {again}; {running.pid} runs, started were {starts}"
    await _tidy(world, job)
    await agent.kill()
    return told


def _counter(world: World) -> Path:
    path = world.folder / "shim-lines"
    path.write_bytes(bytes(SIZE))
    return path


def _starts(world: World, job: StartJob) -> list[str]:
    path = world.work(job) / "starts"
    return path.read_text().split() if path.exists() else []


async def _tidy(world: World, job: StartJob) -> None:
    await world.stop(job, grace=0)
    await world.state(job, "exited")
