"""A share of the kills: some of each story, and a few lines of an agent's start."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.agent_world import a_world
from tests.crash.agent_side import trials
from tests.crash.running import killed
from tests.crash.shim_side import lines_of_a_start, trial


@pytest.mark.req("T30", "T37")
def test_a_server_killed_anywhere_carries_on_and_loses_and_doubles_nothing() -> None:
    """Another share each time; what it printed says which."""
    ran = killed("7")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.anyio
async def test_an_agent_killed_at_a_line_of_a_start_starts_the_job_once(tmp_path: Path) -> None:
    offset = time.time_ns() // 1000 % 150
    wrong = {line: problem async for line, problem in trials(tmp_path, 150, offset) if problem}
    assert wrong == {}, f"offset {offset}"


@pytest.mark.anyio
async def test_a_shim_killed_at_a_line_of_a_start_starts_the_job_once_or_it_has_ended(tmp_path: Path) -> None:
    """Its last lines in any case: between the job's first breath and the word to the agent."""
    async with a_world(tmp_path) as world:
        count = await lines_of_a_start(world)
        lines = [1 + time.time_ns() // 1000 % count, *range(count - 24, count + 1, 8)]
        wrong = {line: problem for line in lines if (problem := await trial(world, line))}
    assert wrong == {}
