"""Real agents and real jobs: started, watched, ended, adopted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from resources.effect import Applied, Rejected
from store import nodes
from tests.agent_world import World, a_world, alive, attempt, gone

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def test_a_job_runs_becomes_ready_and_its_exit_code_is_told(world: World):
    """It ends when its folder gets the file that it waits for."""
    await world.agent()
    job = world.job(command=["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 7"])
    answer = await world.send(job)
    ready = await world.state(job, "ready")
    assert answer == Applied(job.effect, {"pid": ready.pid})
    (world.work(job) / "go").touch()
    ended = await world.state(job, "exited")
    assert (ended.code, ended.signal, ended.reason, ended.ran_seconds >= 1) == (7, None, "", True)
