"""Many agents over a restart of their server: all come back by themselves, and none was ever taken for lost."""

from __future__ import annotations

import asyncio
import json

import anyio
import pytest

from tests.fake_agents import Fakes, prepare_folder
from tests.fleet import a_fleet

AGENTS = 40


@pytest.mark.req("S17")
@pytest.mark.anyio
async def test_agents_come_back_to_a_server_that_was_away():
    names = [f"node-{number:02d}" for number in range(AGENTS)]
    with a_fleet() as fleet:
        prepare_folder(fleet.folder, names)
        server = await asyncio.to_thread(fleet.server)
        fakes = Fakes(f"unix:{fleet.folder}/agents.sock", names)
        async with fakes.running():
            with anyio.fail_after(60):
                await fakes.all_connected()
            server.popen.terminate()
            await asyncio.to_thread(server.popen.wait)
            with anyio.fail_after(60):
                await fakes.all_connected(0)
            await asyncio.to_thread(fleet.server)
            with anyio.fail_after(60):
                await fakes.all_connected()
            listed = await asyncio.to_thread(fleet.rmctl, "get", "nodes", "-o", "json")
            told = await asyncio.to_thread(fleet.rmctl, "events", "-o", "json")
    ready = [one["status"] for one in json.loads(listed.out)["items"]]
    assert len(ready) == AGENTS
    assert {c["reason"] for one in ready for c in one["conditions"] if c["type"] == "Ready"} <= {"Connected", "Silent"}
    assert "no heartbeat: lost" not in told.out
    assert len(fakes.arrivals) >= 2 * AGENTS
