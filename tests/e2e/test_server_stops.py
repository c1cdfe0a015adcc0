"""A server that stops: not ready from the first moment on, answers until its work has ended, then every door shut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from cli.compose import Server
from cli.settings import ServerSettings
from tests.fleet import a_fleet


class Asked(Server):
    """Asks itself how it is while its work comes to its end."""

    told: list[Any]

    async def end_work(self) -> None:
        transport = httpx.AsyncHTTPTransport(uds=str(self.http_socket))
        async with httpx.AsyncClient(transport=transport, base_url="http://rmctl") as client:
            for path in ("/readyz", "/healthz", "/apis/rmctl/v1/server"):
                self.told.append((path, (await client.get(path)).status_code))
        await super().end_work()


@pytest.fixture
def folder() -> Iterator[Path]:
    with a_fleet() as fleet:
        yield fleet.folder


@pytest.mark.anyio
async def test_a_stopping_server_is_not_ready_and_answers_until_its_work_has_ended(folder):
    server = Asked(ServerSettings(data=str(folder)))
    server.told = []
    serving = asyncio.create_task(server.serve())
    transport = httpx.AsyncHTTPTransport(uds=str(server.http_socket))
    async with httpx.AsyncClient(transport=transport, base_url="http://rmctl", timeout=30) as client:
        with anyio.fail_after(60):
            while not (server.http_socket.exists() and (await client.get("/readyz")).status_code == 200):
                await anyio.lowlevel.checkpoint()
            async with client.stream("GET", "/apis/rmctl/v1/pools?watch=1&allowWatchBookmarks=1") as watch:
                lines = watch.aiter_lines()
                first = json.loads(await anext(lines))
                await client.post("/apis/rmctl/v1/server/stop")
                last = [json.loads(line)["type"] async for line in lines][-1]
            await serving
    assert (first["type"], last) == ("ADDED", "BOOKMARK")
    assert server.told == [("/readyz", 503), ("/healthz", 200), ("/apis/rmctl/v1/server", 200)]
    assert not server.http_socket.exists()
    assert not server.agents_socket.exists()


def test_a_watch_that_a_restart_has_cut_goes_on_from_its_bookmark():
    """Nothing between the two connections is missed, and nothing is told twice."""
    with a_fleet() as fleet:
        first = fleet.server()
        client = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(fleet.folder / "rmctl.sock")), base_url="http://rmctl", timeout=60
        )
        manifest = {"apiVersion": "rmctl/v1", "kind": "template", "spec": {"command": ["x"]}}

        def put(name: str) -> None:
            body = {"documents": [{**manifest, "metadata": {"name": name}}]}
            assert client.post("/apis/rmctl/v1/batch", json=body).status_code == 200

        put("before")
        query = {"watch": "1", "allowWatchBookmarks": "1"}
        with client.stream("GET", "/apis/rmctl/v1/templates", params=query) as watch:
            lines = watch.iter_lines()
            seen = [json.loads(next(lines))]
            put("during")
            first.popen.terminate()
            seen += [json.loads(line) for line in lines]
        first.popen.wait()
        assert seen[-1]["type"] == "BOOKMARK"
        fleet.server()
        put("after")
        again = {**query, "resourceVersion": seen[-1]["object"]["metadata"]["resourceVersion"]}
        with client.stream("GET", "/apis/rmctl/v1/templates", params=again) as watch:
            rest = watch.iter_lines()
            while not any(one["object"]["metadata"].get("name") == "after" for one in seen):
                seen.append(json.loads(next(rest)))
        client.close()
    added = [one["object"]["metadata"]["name"] for one in seen if one["type"] == "ADDED"]
    versions = [int(one["object"]["metadata"]["resourceVersion"]) for one in seen]
    assert added == ["before", "during", "after"]
    assert versions == sorted(versions)
