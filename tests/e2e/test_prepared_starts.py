"""A start in two steps: room and ports are held from the first on, the process is there from the second on."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import NO_CAPACITY, NOT_PREPARED, PORT_TAKEN
from controllers.providers.agent_commands import StartJob, StartPrepared
from resources.effect import Applied, Rejected
from tests.agent_world import World, a_world

pytestmark = [pytest.mark.anyio, pytest.mark.req("F407")]
COMMAND = ["sh", "-c", 'echo "$WORD" >> starts; exec sleep 1000']


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


def prepared(job: StartJob) -> StartJob:
    return replace(job, prepare=True, effect=f"{job.job_uid}:prepare/1/1")


def begin(job: StartJob) -> StartPrepared:
    return StartPrepared(f"{job.job_uid}:begin/1/1", "f3", job.instance)


async def test_a_prepared_instance_holds_its_room_and_begins_when_it_is_told_to(world: World):
    await world.agent(capacity=2.0)
    job = world.job(
        command=COMMAND, secretEnv={"WORD": {"secret": "s", "key": "k"}}, requirements={"requiredCapacity": 1.5}
    )
    job = replace(job, secrets={"WORD": "hush"})
    assert isinstance(await world.send(prepared(job)), Applied)
    held = await world.state(job, "prepared")
    assert (held.pid, world.work(job).exists()) == (None, False)
    refused = await world.send(world.job(command=COMMAND, requirements={"requiredCapacity": 1}))
    assert isinstance(refused, Rejected)
    assert refused.code == NO_CAPACITY
    assert await world.send(prepared(job)) == Applied(f"{job.job_uid}:prepare/1/1")
    began = await world.send(begin(job))
    running = await world.state(job, "ready")
    assert began == Applied(f"{job.job_uid}:begin/1/1", {"pid": running.pid})
    assert (world.work(job) / "starts").read_text() == "hush\n"
    assert await world.send(begin(job)) == began


async def test_a_prepared_instance_that_is_stopped_never_ran(world: World):
    await world.agent()
    job = world.job(command=COMMAND)
    await world.send(prepared(job))
    await world.state(job, "prepared")
    assert isinstance(await world.stop(job), Applied)
    ended = await world.state(job, "exited")
    assert (ended.reason, ended.pid, ended.code, world.work(job).exists()) == ("stopped as asked", None, None, False)
    late = await world.send(begin(job))
    assert isinstance(late, Rejected)
    assert not world.work(job).exists()


async def test_another_agent_on_the_folder_knows_nothing_of_what_was_prepared(world: World):
    """Its secrets were in memory alone; the server hears that it has ended."""
    agent = await world.agent()
    job = world.job(command=COMMAND)
    await world.send(prepared(job))
    await world.state(job, "prepared")
    await agent.kill()
    await world.agent()
    ended = await world.state(job, "exited")
    assert (ended.reason, ended.pid) == ("lost with its agent's memory", None)
    answer = await world.send(begin(job))
    assert isinstance(answer, Rejected)
    assert answer.code == NOT_PREPARED


async def test_a_prepared_instance_whose_port_is_taken_meanwhile_ends(world: World):
    await world.agent(address="127.0.0.23")
    with socket.socket() as taken:
        taken.bind(("127.0.0.23", 0))
        port = taken.getsockname()[1]
        job = world.job(command=COMMAND, requirements={"requiredHostPorts": [f"{port}/tcp"]})
        await world.send(prepared(job))
        await world.state(job, "prepared")
        answer = await world.send(begin(job))
    assert isinstance(answer, Rejected)
    assert answer.code == PORT_TAKEN
    await world.state(job, "exited")
