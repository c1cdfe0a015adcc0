"""Plugins of a real server: a rule that hangs costs nodes of one pool a reason, and the server nothing."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.fleet import SLEEPER, Fleet, a_fleet

PLUGIN = """
import time
from pathlib import Path
from rmctl.plugins import Plugin

def sleeps(request, node):
    if request.pool == "slow":
        time.sleep(1e6)

def counts(request, node):
    if request.bundle == "late":
        Path(DOOR).write_text("in")
        sum(range(10**12))

ours = Plugin("ours", filters={"sleeps": sleeps, "counts": counts})
"""
POOL = """\
apiVersion: rmctl/v1
kind: pool
metadata: {name: slow}
spec:
  tiers: [{name: local, kind: local-servers, scaleOut: fixed}]
"""
REASON = "sleeps: did not answer within 1 s, and is not asked for 60 s"


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with a_fleet() as made:
        os.mkfifo(door(made))
        (made.folder / "ours.py").write_text(PLUGIN.replace("DOOR", repr(str(door(made)))))
        yield made


def door(fleet: Fleet) -> Path:
    return fleet.folder / "door"


def served(fleet: Fleet) -> tuple[subprocess.Popen[str], int]:
    """The server, and its child as a descriptor that can be waited for."""
    config = fleet.folder / "server.toml"
    config.write_text(f'[placement]\nplugins = ["{fleet.folder}/ours.py"]\n')
    server = fleet.server("--config", str(config)).popen
    children = [
        child for child in psutil.Process(server.pid).children() if "controllers.plugins.child" in child.cmdline()
    ]
    assert len(children) == 1
    return server, os.pidfd_open(children[0].pid)


def applied(fleet: Fleet, name: str, pool: str = "default") -> None:
    bundle = SLEEPER.replace("NAME", name).replace("pool: default", f"pool: {pool}")
    done = fleet.rmctl("apply", "-f", "-", stdin=bundle)
    assert done.code == 0, done.err


def ended(descriptor: int) -> None:
    """Waits for it."""
    select.select([descriptor], [], [])
    os.close(descriptor)


def test_a_filter_that_sleeps_refuses_its_nodes_while_others_are_placed(fleet: Fleet) -> None:
    _, child = served(fleet)
    assert fleet.rmctl("apply", "-f", "-", stdin=POOL).code == 0
    fleet.agent("box")
    fleet.agent("other", "--pool", "slow")
    assert fleet.rmctl("wait", "node/box", "node/other").code == 0
    applied(fleet, "stuck", "slow")
    applied(fleet, "news")
    placed = fleet.rmctl("wait", "bundle/news")
    assert placed.code == 0, placed.err
    said = ""
    while REASON not in said:
        said = fleet.rmctl("get", "bundle/stuck", "job/stuck.primary.main", "-o", "json").out
    assert f"no node fits (1 nodes): 1 × {REASON}" in said
    assert f"1 × {REASON}" in fleet.rmctl("why", "job/stuck.primary.main").out
    ended(child)  # it was at the sleep: another has its place
    assert fleet.rmctl("delete", "bundle/news").code == 0


def test_a_server_stops_though_a_rule_hangs_and_leaves_no_child(fleet: Fleet) -> None:
    server, child = served(fleet)
    fleet.agent("box")
    assert fleet.rmctl("wait", "node/box").code == 0
    applied(fleet, "late")
    assert door(fleet).read_text() == "in"
    server.terminate()
    assert server.wait() == 0
    ended(child)


def test_a_server_that_is_killed_leaves_no_child(fleet: Fleet) -> None:
    server, child = served(fleet)
    fleet.agent("box")
    assert fleet.rmctl("wait", "node/box").code == 0
    applied(fleet, "late")
    assert door(fleet).read_text() == "in"
    server.kill()
    ended(child)


def test_a_server_whose_plugin_cannot_be_loaded_says_which_and_does_not_start(fleet: Fleet) -> None:
    path = fleet.folder / "ours.py"
    path.write_text("raise SystemExit(3)")
    config = fleet.folder / "server.toml"
    config.write_text(f'[placement]\nplugins = ["{path}"]\n')
    ran = fleet.rmctl("server", "--config", str(config))
    said = f'rmctl: error: settings.placement.plugins[0]: "{path}": SystemExit: 3\n'
    assert (ran.code, ran.err) == (2, said)
