"""An agent that dies while it starts a job, and a node that is cut off from its server."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from resources.effect import Applied, Unknown
from store import nodes
from tests.agent_world import World, a_world, alive, gone, once_there

pytestmark = pytest.mark.anyio

COUNTED = ["sh", "-c", "echo $$ >> starts; exec sleep 1000"]
BEFORE_THE_SHIM = """
import os, agent.launch
agent.launch._spawn = lambda folder, keep: os.kill(os.getpid(), 9)
"""
AFTER_THE_SHIM = """
import os, agent.launch
spawn = agent.launch._spawn
agent.launch._spawn = lambda folder, keep: (spawn(folder, keep), os.kill(os.getpid(), 9))
"""
AFTER_THE_ORDER = """
import os, agent.launch
agent.launch._heard = lambda *_: os.kill(os.getpid(), 9)
"""
BEFORE_THE_RESULT = """
import os, agent.journal
agent.journal.Journal.settle = lambda *_: os.kill(os.getpid(), 9)
"""
BEFORE_THE_REPORT = """
import os, agent.journal
agent.journal.Journal.report = lambda *_: os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize(
    "crash", [BEFORE_THE_SHIM, AFTER_THE_SHIM, AFTER_THE_ORDER, BEFORE_THE_RESULT, BEFORE_THE_REPORT]
)
async def test_an_agent_killed_in_the_middle_of_a_start_starts_the_job_once(tmp_path: Path, crash: str):
    """The answer was unknown; asked again, the next agent finds the job or starts it, and there is one of it."""
    async with a_world(tmp_path) as world:
        first = await world.agent(first=crash)
        job = world.job(command=COUNTED, readiness=once_there("starts"))
        assert isinstance(await world.send(job), Unknown)
        assert await first.ended() == -signal.SIGKILL
        await world.agent()
        answer = await world.send(job)
        running = await world.state(job, "ready")
        assert answer == Applied(job.effect, {"pid": running.pid})
        starts = (world.work(job) / "starts").read_text().split()
        assert starts == [str(running.pid)]


@pytest.fixture
async def brief(tmp_path: Path) -> AsyncIterator[World]:
    """A pool whose nodes are lost so soon that their fenced jobs have one second."""
    lost = {"silentSeconds": 1, "lostSeconds": 21}
    async with a_world(tmp_path, heartbeat_seconds=0.2, disconnect=lost) as world:
        yield world


async def test_a_fenced_job_ends_by_itself_when_its_agent_is_dead(brief: World):
    """Its neighbour, which is to be replaced, lives on."""
    agent = await brief.agent()
    fenced, free = (brief.job(command=["sleep", "1000"], onDisconnect=rule) for rule in ("stop", "replace"))
    await brief.send(fenced)
    await brief.send(free)
    pid = (await brief.state(fenced, "running", "ready")).pid
    neighbour = (await brief.state(free, "running", "ready")).pid
    await agent.kill()
    await gone(pid)
    assert alive(neighbour)
    await brief.agent()
    ended = await brief.state(fenced, "exited")
    assert (ended.reason, ended.signal) == ("cut off from the server", 15)


async def test_a_fenced_job_ends_when_the_server_is_away(brief: World):
    await brief.agent()
    job = brief.job(command=["sleep", "1000"], onDisconnect="stop")
    await brief.send(job)
    running = await brief.state(job, "running", "ready")
    await brief.shut()
    await gone(running.pid)
    await brief.open()
    assert (await brief.state(job, "exited")).reason == "cut off from the server"


async def test_a_fence_that_is_renewed_holds_nobody_back(brief: World):
    """Ten heartbeats are twice the fence."""
    await brief.agent()
    job = brief.job(command=["sleep", "1000"], onDisconnect="stop")
    await brief.send(job)
    running = await brief.state(job, "ready")
    await brief.heartbeats(10)
    assert alive(running.pid)
    with brief.store.read() as tx:
        assert nodes.list_instances(tx, uid=job.job_uid)[0].state == "ready"


async def test_an_agent_told_to_end_in_the_middle_of_a_start_lets_it_come_to_its_end(tmp_path: Path):
    told = """
import os, agent.launch
heard = agent.launch._heard
agent.launch._heard = lambda *given: (os.kill(os.getpid(), 15), heard(*given))[1]
"""
    async with a_world(tmp_path) as world:
        first = await world.agent(first=told)
        job = world.job(command=COUNTED, readiness=once_there("starts"))
        await world.send(job)
        assert await first.ended() == 0
        await world.agent()
        running = await world.state(job, "ready")
        assert (world.work(job) / "starts").read_text().split() == [str(running.pid)]
