"""kill -9 of a real agent at the lines of a StartJob; the next agent finds the job or starts it, once."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

from controllers.providers.agent_commands import StartJob
from resources.effect import Applied
from tests.agent_world import World, a_world
from tests.crash.agent_lines import counted, first

COMMAND = ["sh", "-c", "echo $$ >> starts; exec sleep 1000"]


async def lines_of_a_start(world: World) -> int:
    """How many lines of the agent one StartJob takes, and nobody is killed."""
    counter = world.folder / "lines"
    agent = await world.agent(first=first(counter, 0))
    job = world.job(command=COMMAND)
    await world.send(job)
    await world.state(job, "ready")
    count = counted(counter)
    await _tidy(world, job)
    await agent.kill()
    return count


async def trials(folder: Path, stride: int, offset: int) -> AsyncIterator[tuple[int, str]]:
    """(line, what was wrong) for every `stride`th line; empty words when nothing was."""
    async with a_world(folder) as world:
        count = await lines_of_a_start(world)
        for line in range(1 + offset, count + 1, stride):
            yield line, await trial(world, line)


async def trial(world: World, line: int) -> str:
    doomed = await world.agent(first=first(world.folder / "lines", line))
    job = world.job(command=COMMAND)
    answer = await world.send(job)
    if isinstance(answer, Applied):  # a thread took another turn, and the line was not reached
        await doomed.kill()
    elif await doomed.ended() != -signal.SIGKILL:
        return f"the agent ended by itself: {doomed.said}"
    heir = await world.agent()
    answer = await world.send(job)
    running = await world.state(job, "ready")
    starts = (world.work(job) / "starts").read_text().split()
    await _tidy(world, job)
    await heir.kill()
    if answer != Applied(job.effect, {"pid": running.pid}):
        return f"asked again it says {answer}"
    return "" if starts == [str(running.pid)] else f"{running.pid} runs, started were {starts}"


async def _tidy(world: World, job: StartJob) -> None:
    await world.stop(job, grace=0)
    await world.state(job, "exited")
