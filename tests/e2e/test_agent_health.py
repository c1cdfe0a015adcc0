"""Readiness and liveness of real jobs, by port, page and command."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from resources.facts import Instance
from store import nodes
from tests.agent_world import World, a_world

pytestmark = pytest.mark.anyio

SERVE = """
import http.server, os, pathlib, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if pathlib.Path("up").exists() else 503)
        self.end_headers()
server = http.server.ThreadingHTTPServer((os.environ["RM_NODE_ADDRESS"], int(sys.argv[1])), Page)
pathlib.Path("port.tmp").write_text(str(server.server_address[1]))
os.rename("port.tmp", "port")
server.serve_forever()
"""
TCP_IN_FILE = """
import os, socket
socket.create_connection((os.environ["RM_NODE_ADDRESS"], int(open("port").read()))).close()
"""
SOON = {"periodSeconds": 0.1, "graceSeconds": 60, "failures": 2}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as made:
        yield made


async def test_a_command_that_succeeds_makes_a_job_ready(world: World):
    """It runs in the job's folder, with the job's environment."""
    await world.agent()
    probe = {"exec": ["sh", "-c", 'test -e "$SIGN" && [ "$RM_ATTEMPT" = 1 ]'], **SOON}
    job = world.job(command=["sleep", "1000"], env={"SIGN": "up"}, readiness=probe)
    await world.send(job)
    assert (await world.state(job, "running")).ready_at is None
    (world.work(job) / "up").touch()
    ready = await world.state(job, "ready")
    assert ready.ready_at is not None


async def test_a_port_that_answers_makes_a_job_ready_and_misses_say_so(world: World):
    """Two misses in a row make it not ready, restart nothing, and one good answer takes it back."""
    await world.agent(address="127.0.0.21")
    job = world.job(
        command=[sys.executable, "-c", SERVE, "0"],
        readiness={"exec": [sys.executable, "-c", TCP_IN_FILE], **SOON},
    )
    await world.send(job)
    running = await world.state(job, "ready")
    (world.work(job) / "port").rename(world.work(job) / "hidden")
    away = await world.until(lambda tx: _if(nodes.list_instances(tx, uid=job.job_uid)[0], ready=False))
    assert (away.state, away.pid, away.not_ready_detail != "") == ("ready", running.pid, True)
    (world.work(job) / "hidden").rename(world.work(job) / "port")
    back = await world.until(lambda tx: _if(nodes.list_instances(tx, uid=job.job_uid)[0], ready=True))
    assert (back.state, back.pid, back.not_ready_detail) == ("ready", running.pid, "")


@pytest.mark.parametrize("probe", [{"tcp": 0}, {"http": "/"}, {"http": "http://${node.address}:PORT/"}])
async def test_a_port_or_a_page_makes_a_job_ready(world: World, probe: dict[str, Any]):
    """A path is asked for at the first declared tcp port."""
    await world.agent(address="127.0.0.22")
    with socket.socket() as free:
        free.bind(("127.0.0.22", 0))
        port = free.getsockname()[1]
    way = {"tcp": port} if "tcp" in probe else {"http": probe["http"].replace("PORT", str(port))}
    job = world.job(
        command=[sys.executable, "-c", SERVE, str(port)],
        requirements={"requiredHostPorts": [f"{port}/tcp"]},
        readiness={**way, **SOON},
    )
    await world.send(job)
    await world.state(job, "running", "ready")
    (world.work(job) / "up").touch()
    await world.state(job, "ready")


def _if(instance: Instance, *, ready: bool) -> Instance | None:
    return instance if instance.ready is ready else None


async def test_a_job_that_never_gets_ready_is_ended_when_its_grace_is_over(world: World):
    await world.agent()
    probe = {"exec": ["false"], "periodSeconds": 0.1, "graceSeconds": 0.5}
    job = world.job(command=["sleep", "1000"], readiness=probe)
    await world.send(job)
    ended = await world.state(job, "exited")
    assert (ended.reason, ended.signal, ended.ready_at) == ("not ready within 0.5 s: false exits 1", 15, None)


async def test_a_job_that_stops_answering_its_liveness_is_ended(world: World):
    await world.agent()
    asked = {"exec": ["test", "!", "-e", "stuck"], **SOON, "graceSeconds": 0.1}
    job = world.job(command=["sleep", "1000"], liveness=asked)
    await world.send(job)
    await world.state(job, "ready")
    (world.work(job) / "stuck").touch()
    assert (await world.state(job, "exited")).reason == "no longer alive: test exits 1"
