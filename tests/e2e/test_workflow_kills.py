"""Child runs under a real server, on both engines: server, worker and runner are killed, a person is asked."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tests.e2e.test_workflow_engine import HEAD, SLOW, seen_in
from tests.fleet import Fleet

REPORT = """
from rmctl import Context, Resource, Spec, condition_false, condition_true, resource_manager


class ReportSpec(Spec):
    folder: str


@resource_manager("report", spec=ReportSpec)
async def reconcile(ctx: Context, resource: Resource):
    asked = {"folder": resource.spec.folder}
    run = await ctx.workflows.ensure(key="build:1", workflow="build", input=asked)
    if run.succeeded:
        return ctx.settled(conditions=[condition_true("Ready", "Built", str(run.result))])
    return ctx.settled(conditions=[condition_false("Ready", run.state.title(), run.error)])
"""


@pytest.fixture(params=["store", "dbos"])
def fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    with tempfile.TemporaryDirectory(prefix="rm") as name:
        folder = Path(name)
        (folder / ".rm" / "resource-managers").mkdir(parents=True)
        (folder / ".rm" / "workflows").mkdir()
        (folder / ".rm" / "resource-managers" / "report.resource_manager.py").write_text(REPORT)
        (folder / ".rm" / "workflows" / "build.workflow.py").write_text(HEAD + SLOW)
        (folder / "server.toml").write_text(
            f'[definitions]\nloadSeconds = 120\n[workflows]\nengine = "{request.param}"\n'
        )
        started = Fleet(folder)
        started.cwd = folder
        started.environment |= {"XDG_CONFIG_HOME": str(folder / "config"), "PYTHONPATH": str(ROOT)}
        yield started
        started.end()


@pytest.mark.req("T41", "T45", "CW9")
def test_server_and_runner_are_killed_and_a_person_lets_the_run_end(fleet: Fleet) -> None:
    server = fleet.server("--config", str(fleet.folder / "server.toml"))
    document = {"apiVersion": "rmctl/v1", "kind": "report", "metadata": {"name": "r"}}
    applied = fleet.rmctl("apply", "-f", "-", stdin=json.dumps({**document, "spec": {"folder": str(fleet.folder)}}))
    assert applied.code == 0, applied.err
    pid = fleet.folder / "pid"
    while not (pid.exists() and pid.read_text()):
        pass
    server.popen.send_signal(signal.SIGKILL)
    server.popen.wait()
    pid.unlink()
    fleet.server("--config", str(fleet.folder / "server.toml"))
    while not (pid.exists() and pid.read_text()):
        pass
    os.kill(int(pid.read_text()), signal.SIGKILL)
    (fleet.folder / "go").touch()
    while "waiting" not in fleet.rmctl("runs").out:
        pass
    (listed,) = json.loads(fleet.rmctl("get", "runs", "-o", "json").out)["items"]
    assert (listed["state"], listed["waitsFor"], listed["attempt"]) == ("waiting", "approval", 1)
    assert listed["processes"] == 3
    assert "build  waiting" in fleet.rmctl("describe", "report/r").out
    assert fleet.rmctl("runs", "resume", listed["id"]).code == 2
    assert fleet.rmctl("runs", "pause", listed["id"]).code == 2
    assert fleet.rmctl("runs", "fork", listed["id"], "--reason", "x").code == 3
    resumed = fleet.rmctl("runs", "resume", listed["id"][:8], "--value", '"fine"', "--reason", "looked at it")
    assert resumed.code == 0, resumed.err
    assert fleet.rmctl("wait", "report/r", "--for=Ready", "--timeout", "300s").code == 0
    assert "report/r: fine" in fleet.rmctl("describe", "report/r").out
    assert (fleet.folder / "seen").read_text().split() == ["a", "b"]
    assert fleet.rmctl("runs", "resume", listed["id"], "--reason", "again").code == 3
    forked = fleet.rmctl("runs", "fork", listed["id"], "--reason", "once more", "-o", "json")
    assert json.loads(forked.out)["attempt"] == 2
    cancelled = fleet.rmctl("runs", "cancel", json.loads(forked.out)["id"], "--reason", "enough")
    assert cancelled.code in (0, 3)


HELD = """
@workflow("build")
def build(ctx, given):
    folder = Path(given["folder"])
    def hold(name):
        if not (folder / name).exists():
            (folder / "new").write_text(str(os.getppid()))
            (folder / "new").rename(folder / name)
            while True:
                time.sleep(0.05)
    def work(name):
        hold(f"before-{name}")
        note(folder, name)
        hold(f"after-{name}")
        return name
    return "".join(ctx.step(name, lambda name=name: work(name)) for name in "abc")
"""


@pytest.mark.req("T45")
@pytest.mark.one_of("victims")
@pytest.mark.parametrize(
    ("fleet", "victim"), [("store", "server"), ("dbos", "server"), ("dbos", "worker")], indirect=["fleet"]
)
def test_server_or_worker_is_killed_at_every_step(fleet: Fleet, victim: str) -> None:
    """The parent of a step's process is the worker, where there is one."""
    (fleet.folder / ".rm" / "workflows" / "build.workflow.py").write_text(HEAD + HELD)
    server = fleet.server("--config", str(fleet.folder / "server.toml"))
    document = {"apiVersion": "rmctl/v1", "kind": "report", "metadata": {"name": "r"}}
    applied = fleet.rmctl("apply", "-f", "-", stdin=json.dumps({**document, "spec": {"folder": str(fleet.folder)}}))
    assert applied.code == 0, applied.err
    for name in "abc":
        for when in ("before", "after"):
            held = fleet.folder / f"{when}-{name}"
            while not held.exists():
                pass
            if victim == "worker":
                os.kill(int(held.read_text()), signal.SIGKILL)
            else:
                server.popen.send_signal(signal.SIGKILL)
                server.popen.wait()
                server = fleet.server("--config", str(fleet.folder / "server.toml"))
    assert fleet.rmctl("wait", "report/r", "--for=Ready", "--timeout", "300s").code == 0
    (listed,) = json.loads(fleet.rmctl("get", "runs", "-o", "json").out)["items"]
    assert (listed["state"], listed["attempt"], listed["processes"]) == ("succeeded", 1, 7)
    assert [one["state"] for one in listed["steps"]] == ["done"] * 3
    assert seen_in(fleet.folder) == list("aabbcc")
