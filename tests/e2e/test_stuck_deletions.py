"""Deletions that cannot finish: they say what they wait for, and a person may end them by force, with a reason."""

from __future__ import annotations

import getpass
import json
import signal
from collections.abc import Iterator

import pytest

from tests.fleet import Fleet, Process, a_fleet

BUNDLE = """\
apiVersion: rmctl/v1
kind: bundle
metadata: {name: stuck}
spec:
  pool: default
  jobs:
    - jobName: main
      command: [sleep, "1000"]
      onDisconnect: hold
      requirements: {requiredCapacity: 0.5, onRuntimeFailure: avoidSpare}
"""
JOB = "job/stuck/primary/main"


class Silenced:
    """A fleet whose only agent has been stopped in the middle of everything, a job running under it."""

    def __init__(self, fleet: Fleet, agent: Process) -> None:
        self.fleet = fleet
        self.agent = agent
        self.rmctl = fleet.rmctl

    def get(self, what: str, expression: str) -> str:
        return self.rmctl("get", what, "-o", f"jsonpath={expression}").out.strip()


@pytest.fixture
def silenced() -> Iterator[Silenced]:
    with a_fleet() as made:
        made.server()
        agent = made.agent("mybox", "--capacity", "4")
        assert made.rmctl("wait", "node/mybox").code == 0
        ran = made.rmctl("apply", "-f", "-", "--wait", stdin=BUNDLE)
        assert ran.code == 0, ran.err
        agent.popen.send_signal(signal.SIGSTOP)
        yield Silenced(made, agent)
        agent.popen.send_signal(signal.SIGCONT)


@pytest.mark.req("S3")
def test_a_deletion_that_cannot_finish_explains_itself_and_goes_by_force_with_a_reason(silenced: Silenced) -> None:
    uid, pid = silenced.get(JOB, "{.metadata.uid}"), silenced.get(JOB, "{.status.pid}")
    assert silenced.rmctl("delete", "bundle/stuck", "--wait=false").out == "bundle/stuck is being deleted\n"
    assert silenced.rmctl("wait", JOB, "--for=jsonpath={.status.phase}=stopping").code == 0
    row = silenced.rmctl("get", "bundle/stuck", "--no-headers").out
    assert row.split()[1:3] == ["False", "Deleting"]
    assert "is being deleted: 1 job to end; for " in row
    assert row.rstrip().endswith("kept by rmctl/jobs")
    assert "is being deleted: stops on mybox" in silenced.rmctl("get", JOB).out
    described = silenced.rmctl("describe", "bundle/stuck").out
    assert described.splitlines()[0] == silenced.rmctl("why", "bundle/stuck").out.splitlines()[0]
    assert described.startswith("bundle/stuck is being deleted since ")
    assert "rmctl/jobs  kept by the bundle" in described
    assert described.rstrip().endswith("rmctl delete --force --reason TEXT bundle/stuck")

    refused = silenced.rmctl("delete", "bundle/stuck", "--force")
    assert (refused.code, refused.err.splitlines()[0]) == (
        2,
        "rmctl: error: --force needs --reason: it is kept in the audit",
    )
    forced = silenced.rmctl("delete", "bundle/stuck", "--force", "--reason", "the machine is gone")
    assert forced.out.splitlines()[0] == "bundle/stuck removed by force"
    assert f"pid {pid}" in forced.out
    assert silenced.rmctl("get", "bundle/stuck").code == silenced.rmctl("get", JOB).code == 3

    audited = json.loads(silenced.rmctl("events", "--for", JOB, "-o", "json").out)["items"]
    (kept,) = [event for event in audited if event["type"] == "AuditAppended"]
    assert (kept["payload"]["by"], kept["payload"]["reason"]) == (getpass.getuser(), "the machine is gone")
    assert kept["payload"]["finalizers"] == ["rmctl/instance"]
    assert [one.get("kind") for one in kept["payload"]["left"]] == ["StopJob", None]
    found = silenced.rmctl("audit", "capacity").out
    assert f"job/stuck/primary/main runs as {uid}.1.1, pid {pid}: unowned, was {uid}" in found


def test_what_was_removed_by_force_is_ended_when_its_node_is_heard_again(silenced: Silenced) -> None:
    assert silenced.rmctl("delete", "bundle/stuck", "--force", "--reason", "in a hurry").code == 0
    assert "unowned" in silenced.rmctl("audit", "capacity").out
    silenced.agent.popen.kill()
    silenced.agent.popen.wait()
    silenced.fleet.again("mybox")
    assert silenced.rmctl("wait", "node/mybox", "--for=jsonpath={.status.jobs}=[]").code == 0
    audits = (silenced.rmctl("audit", "capacity").out for _ in range(200))
    assert any(told == "all of it agrees\n" for told in audits)


def test_a_deletion_ends_when_its_node_is_given_up_though_a_stop_was_on_its_way_there(silenced: Silenced) -> None:
    assert silenced.rmctl("delete", "bundle/stuck", "--wait=false").code == 0
    assert silenced.rmctl("wait", JOB, "--for=jsonpath={.status.phase}=stopping").code == 0
    assert silenced.rmctl("wait", "node/mybox", "--for=condition=Ready=Unknown").code == 0
    assert silenced.rmctl("node", "lost", "mybox").code == 0
    assert silenced.rmctl("wait", "bundle/stuck", "--for=delete", "--timeout", "5m").code == 0


@pytest.mark.req("B91")
def test_force_spares_what_is_in_use_and_what_is_another_one_now(silenced: Silenced) -> None:
    assert silenced.rmctl("delete", "pool/default", "--force", "--reason", "x").code == 3
    assert silenced.rmctl("delete", "bundle/stuck", "--force", "--reason", "x", "--uid", "not-this").code == 3
    assert silenced.rmctl("delete", JOB, "--force", "--reason", "x").code == 3
    assert silenced.get("bundle/stuck", "{.metadata.name}") == "stuck"


def test_a_node_that_is_heard_of_cannot_be_given_up_and_a_silent_one_can(silenced: Silenced) -> None:
    refused = silenced.rmctl("node", "lost", "mybox")
    assert (refused.code, "is heard of now" in refused.err) == (3, True)
    assert silenced.rmctl("wait", "node/mybox", "--for=condition=Ready=Unknown").code == 0
    assert silenced.rmctl("node", "lost", "mybox", "--reason", "burnt").out == "node/mybox is given up\n"
    assert silenced.rmctl("wait", "node/mybox", "--for=condition=Ready=False").code == 0
    assert silenced.get("node/mybox", "{.status.conditions[0].reason}") == "Lost"
    assert silenced.rmctl("wait", JOB, "--for=condition=Unschedulable").code == 0
