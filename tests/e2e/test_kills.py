"""kill -9 of everything there is, in turn and all at once: what was asked for is back, and nothing is there twice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet import Fleet, Process, a_fleet

TWO_NODES = """
apiVersion: rmctl/v1
kind: bundle
metadata: {name: pair}
spec:
  pool: default
  resiliencePolicy: {sameNode: forbid}
  jobs:
    - jobName: hold
      command: [sh, -c, "exec tail -f /dev/null"]
      requirements: {requiredCapacity: 1, onRuntimeFailure: avoidSpare}
    - jobName: side
      command: [sh, -c, "exec tail -f /dev/null"]
      requirements: {requiredCapacity: 0.5, onRuntimeFailure: avoidSpare}
"""


class Stage:
    """A server and two agents that a test may kill and start again."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.server = fleet.server()
        self.agents = {name: fleet.agent(name, "--capacity", "4") for name in ("left", "right")}

    def jobs(self) -> dict[str, Any]:
        """Status by name."""
        items = json.loads(self.fleet.rmctl("get", "jobs", "-o", "json").out)["items"]
        return {item["metadata"]["name"]: item["status"] for item in items}

    def pids(self) -> dict[str, int]:
        return {name: status["pid"] for name, status in self.jobs().items()}

    def ready(self) -> None:
        ran = self.fleet.rmctl("wait", "bundle/pair", "--for=Ready", "--timeout=60s")
        assert ran.code == 0, ran.err

    def restart_server(self) -> None:
        self.server = self.fleet.server()

    def restart_agent(self, name: str) -> None:
        self.agents[name] = self.fleet.again(name)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with a_fleet() as fleet:
        made = Stage(fleet)
        assert fleet.rmctl("apply", "-f", "-", stdin=TWO_NODES).code == 0
        made.ready()
        yield made


def kill(process: Process) -> None:
    process.popen.kill()
    process.popen.wait()


def living(instance: str) -> list[int]:
    """Processes of this machine that carry the instance's marker, shims and their helpers apart."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"RM_INSTANCE={instance}".encode() in environment:
                found.append(int(folder.name))
    return found


def one_each(stage: Stage) -> dict[str, int]:
    """Every job has exactly the process that its status names."""
    statuses = stage.jobs()
    pids = {name: status["pid"] for name, status in statuses.items()}
    assert {name: living(status["instanceId"]) for name, status in statuses.items()} == {
        n: [p] for n, p in pids.items()
    }
    return pids


@pytest.mark.req("F124", "F125")
def test_a_killed_job_comes_back_once_and_is_counted(stage: Stage) -> None:
    before = one_each(stage)
    os.kill(before["pair.primary.hold"], signal.SIGKILL)
    ran = stage.fleet.rmctl("wait", "job/pair/primary/hold", "--for=jsonpath={.status.attempt}=2", "--timeout=60s")
    assert ran.code == 0, ran.err
    stage.ready()
    after = one_each(stage)
    status = stage.jobs()["pair.primary.hold"]
    assert (status["restarts"]["failed"], status["restarts"]["lastHour"], status["lastExit"]["signal"]) == (1, 1, 9)
    assert {name for name in after if after[name] != before[name]} == {"pair.primary.hold"}


def test_a_killed_server_leaves_every_pid_and_counts_nothing(stage: Stage) -> None:
    before = one_each(stage)
    kill(stage.server)
    stage.restart_server()
    stage.ready()
    assert one_each(stage) == before
    assert {status["restarts"].get("failed", 0) for status in stage.jobs().values()} == {0}


def test_a_killed_agent_adopts_what_it_had(stage: Stage) -> None:
    before = one_each(stage)
    for name, process in list(stage.agents.items()):
        kill(process)
        stage.restart_agent(name)
    stage.ready()
    assert one_each(stage) == before
    assert {status["restarts"].get("failed", 0) for status in stage.jobs().values()} == {0}


def test_everything_killed_at_once_comes_back_once(stage: Stage) -> None:
    before = one_each(stage)
    victim = "pair.backup.side"
    kill(stage.server)
    for process in stage.agents.values():
        kill(process)
    os.kill(before[victim], signal.SIGKILL)
    stage.restart_server()
    for name in list(stage.agents):
        stage.restart_agent(name)
    ran = stage.fleet.rmctl("wait", "job/pair/backup/side", "--for=jsonpath={.status.attempt}=2", "--timeout=60s")
    assert ran.code == 0, ran.err
    stage.ready()
    after = one_each(stage)
    assert {name for name in after if after[name] != before[name]} == {victim}
    assert {
        name: s["restarts"].get("failed", 0) for name, s in stage.jobs().items() if name != victim
    } == dict.fromkeys(set(before) - {victim}, 0)


def test_what_ends_while_the_server_is_down_is_told_with_its_own_time(stage: Stage) -> None:
    before = one_each(stage)
    kill(stage.server)
    os.kill(before["pair.primary.side"], signal.SIGKILL)
    while living_pid(before["pair.primary.side"]):
        pass
    stage.restart_server()
    started = json.loads(stage.fleet.rmctl("server", "status", "-o", "json").out)["startedAt"]
    ran = stage.fleet.rmctl("wait", "job/pair/primary/side", "--for=jsonpath={.status.attempt}=2", "--timeout=60s")
    assert ran.code == 0, ran.err
    assert stage.jobs()["pair.primary.side"]["lastExit"]["at"] < started


ONCE = """
apiVersion: rmctl/v1
kind: bundle
metadata: {name: once}
spec:
  pool: default
  jobs:
    - jobName: work
      command: [sh, -c, "mkfifo gate && read -r word <gate"]
      readiness: {exec: [test, -p, gate], periodSeconds: 0.1}
      requirements: {requiredCapacity: 0.1, onRuntimeFailure: avoidSpare}
"""


def test_a_job_that_completes_while_the_server_is_down_is_completed_at_its_own_time(stage: Stage) -> None:
    assert stage.fleet.rmctl("apply", "-f", "-", stdin=ONCE).code == 0
    assert stage.fleet.rmctl("wait", "bundle/once", "--for=Ready", "--timeout=60s").code == 0
    job = stage.jobs()["once.primary.work"]
    kill(stage.server)
    gate = stage.fleet.folder / "agents" / job["node"] / "jobs" / "once.primary.work" / "gate"
    gate.write_text("go\n")
    while living_pid(job["pid"]):
        pass
    stage.restart_server()
    started = json.loads(stage.fleet.rmctl("server", "status", "-o", "json").out)["startedAt"]
    ran = stage.fleet.rmctl(
        "wait", "job/once/primary/work", "--for=jsonpath={.status.phase}=completed", "--timeout=60s"
    )
    assert ran.code == 0, ran.err
    ended = stage.jobs()["once.primary.work"]
    assert (ended["lastExit"]["code"], ended["restarts"].get("failed", 0), ended["attempt"]) == (0, 0, 1)
    assert ended["lastExit"]["at"] < started


def test_every_start_was_recorded_before_it_was_made(stage: Stage) -> None:
    effects = json.loads(stage.fleet.rmctl("get", "effects", "-o", "json").out)["items"]
    starts = [effect for effect in effects if effect["kind"] == "StartJob"]
    began = {status["startedAt"] for status in stage.jobs().values()}
    assert (len(starts), {effect["state"] for effect in starts}) == (4, {"applied"})
    assert max(effect["createdAt"] for effect in starts) <= max(began)
    assert all(effect["createdAt"] <= effect["startedAt"] <= effect["completedAt"] for effect in starts)


def living_pid(pid: int) -> bool:
    """Not gone, and not waiting for its parent either."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
