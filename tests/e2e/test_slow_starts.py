"""A slow start is no failure: not while it has its grace, and not because somebody was restarted meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fleet import Fleet, a_fleet

SLOW = """
apiVersion: rmctl/v1
kind: bundle
metadata: {name: slow}
spec:
  pool: default
  jobs:
    - jobName: web
      command: [sh, -c, "exec tail -f /dev/null"]
      readiness: {exec: [test, -e, up], periodSeconds: 0.2, graceSeconds: 3600}
      liveness: {exec: [test, -e, up], periodSeconds: 0.2, graceSeconds: 3600}
      requirements: {requiredCapacity: 1, onRuntimeFailure: avoidSpare}
"""
LATE = """
apiVersion: rmctl/v1
kind: bundle
metadata: {name: late}
spec:
  pool: default
  jobs:
    - jobName: web
      command: [sh, -c, "exec tail -f /dev/null"]
      readiness: {exec: [sh, -c, '[ "$RM_ATTEMPT" -gt 1 ]'], periodSeconds: 0.2, graceSeconds: 1}
      requirements: {requiredCapacity: 1, onRuntimeFailure: avoidSpare}
"""


def status(fleet: Fleet, job: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(fleet.rmctl("get", "job", job, "-o", "json").out)["status"]
    return told


def wait(fleet: Fleet, what: str, condition: str) -> None:
    ran = fleet.rmctl("wait", what, f"--for={condition}", "--timeout=120s")
    assert ran.code == 0, ran.err


@pytest.mark.req("S15")
def test_a_job_that_becomes_ready_late_is_neither_restarted_nor_counted() -> None:
    """The server dies while it is waited for; one that is not ready in its grace is counted once."""
    with a_fleet() as fleet:
        server = fleet.server()
        fleet.agent("mybox", "--capacity", "4")
        assert fleet.rmctl("apply", "-f", "-", stdin=SLOW).code == 0
        wait(fleet, "job/slow/primary/web", "jsonpath={.status.phase}=running")
        before = status(fleet, "slow/primary/web")
        server.popen.kill()
        server.popen.wait()
        fleet.server()
        wait(fleet, "node/mybox", "Ready")
        (fleet.folder / "agents" / "mybox" / "jobs" / "slow.primary.web" / "up").touch()
        wait(fleet, "bundle/slow", "Ready")
        after = status(fleet, "slow/primary/web")
        assert (after["pid"], after["attempt"], after["startedAt"]) == (before["pid"], 1, before["startedAt"])
        assert after["restarts"].get("failed", 0) == 0
        assert fleet.rmctl("apply", "-f", "-", stdin=LATE).code == 0
        wait(fleet, "bundle/late", "Ready")
        told = status(fleet, "late/primary/web")
        assert (told["attempt"], told["restarts"]["failed"]) == (2, 1)
        assert told["lastExit"]["reason"].startswith("not ready within 1 s")
