"""The server kills itself at each of its named points, and the next one has everything done once."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from tests.fleet import Fleet, a_fleet

POINTS = ("after-placement", "after-intent", "before-apply", "after-apply", "after-receipt")
BUNDLE = {
    "apiVersion": "rmctl/v1",
    "kind": "bundle",
    "metadata": {"name": "once"},
    "spec": {
        "pool": "default",
        "jobs": [
            {
                "jobName": "main",
                "command": ["sh", "-c", "echo started; exec sleep 1000"],
                "requirements": {"requiredCapacity": 0.5, "onRuntimeFailure": "avoidSpare"},
            }
        ],
    },
}


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with a_fleet() as found:
        yield found


@pytest.mark.one_of("points")
@pytest.mark.parametrize("point", POINTS)
def test_what_was_begun_at_the_point_is_done_once(fleet: Fleet, point: str) -> None:
    first = fleet.server()
    fleet.agent("node-k", "--capacity", "2")
    first.popen.terminate()
    first.popen.wait()
    fleet.environment["RM_SERVER_KILLAT"] = point
    doomed = fleet.server()
    fleet.rmctl("apply", "-f", "-", stdin=json.dumps(BUNDLE))
    assert doomed.popen.wait() == -signal.SIGKILL
    del fleet.environment["RM_SERVER_KILLAT"]
    fleet.server()
    waited = fleet.rmctl("wait", "bundle/once", "--timeout", "120s")
    assert waited.code == 0, waited.err
    assert fleet.rmctl("logs", "once").out == "started\n"
    job = json.loads(fleet.rmctl("get", "once/main", "-o", "json").out)
    assert (job["status"]["attempt"], job["status"]["restarts"]["failed"]) == (1, 0)


def test_a_schema_that_was_not_finished_is_begun_again(fleet: Fleet) -> None:
    fleet.environment["RM_SERVER_KILLAT"] = "in-schema-migration"
    doomed = fleet.server()
    assert (doomed.line, doomed.popen.wait()) == ("", -signal.SIGKILL)
    del fleet.environment["RM_SERVER_KILLAT"]
    assert "ready" in fleet.server().line
