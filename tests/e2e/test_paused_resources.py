"""Pauses and the hold, on real processes: nothing is decided, or nothing is begun, until somebody says so."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from tests.fleet import SLEEPER, Fleet, a_fleet


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with a_fleet() as made:
        made.server()
        made.agent("mybox", "--capacity", "4")
        assert made.rmctl("wait", "node/mybox").code == 0
        yield made


@pytest.fixture
def held(fleet: Fleet) -> Iterator[Fleet]:
    yield fleet
    fleet.rmctl("resume", "server")


def run(fleet: Fleet, name: str) -> str:
    """A bundle of one job that runs; the job's name."""
    ran = fleet.rmctl("apply", "-f", "-", "--wait", stdin=SLEEPER.replace("NAME", name))
    assert ran.code == 0, ran.err
    return f"job/{name}/primary/main"


def path(fleet: Fleet, what: str, expression: str) -> str:
    return fleet.rmctl("get", what, "-o", f"jsonpath={expression}").out.strip()


def ready(fleet: Fleet, what: str) -> str:
    return path(fleet, what, "{.status.conditions[0].reason}")


def test_a_paused_bundle_is_left_as_it_is_with_its_jobs_and_goes_on_from_what_is_so_then(fleet: Fleet) -> None:
    job = run(fleet, "held")
    paused = fleet.rmctl("pause", "bundle/held", "--reason", "a look at it")
    assert (paused.out, paused.err) == ("bundle/held paused\n", "Next: rmctl resume bundle/held\n")
    assert fleet.rmctl("wait", job, "--for=condition=Ready=False").code == 0
    assert ready(fleet, "bundle/held") == ready(fleet, job) == "Paused"
    told = "is paused with bundle/held: a look at it; rmctl resume bundle/held lets it go on"
    assert fleet.rmctl("why", job).out.splitlines()[0] == f"{job} {told}"
    os.kill(int(path(fleet, job, "{.status.pid}")), signal.SIGKILL)
    assert fleet.rmctl("reconcile", job).code == 0
    assert fleet.rmctl("wait", job, "--for=jsonpath={.status.attempt}=2", "--timeout", "2s").code == 7
    assert "start/1/2" not in fleet.rmctl("get", "effects", job).out
    assert fleet.rmctl("resume", "bundle/held").code == 0
    assert fleet.rmctl("wait", job, "--for=jsonpath={.status.attempt}=2").code == 0
    assert fleet.rmctl("wait", "bundle/held").code == 0
    assert fleet.rmctl("delete", "bundle/held").code == 0


def test_a_deletion_goes_on_although_its_bundle_is_paused(fleet: Fleet) -> None:
    run(fleet, "going")
    assert fleet.rmctl("pause", "bd", "going").code == 0
    assert fleet.rmctl("delete", "bundle/going").out == "bundle/going deleted\n"


def test_one_job_can_be_paused_and_its_bundle_says_so_without_an_alarm(fleet: Fleet) -> None:
    job = run(fleet, "single")
    assert fleet.rmctl("pause", "single/primary/main").out == f"{job} paused\n"
    assert fleet.rmctl("wait", "bundle/single", "--for=condition=Available=Unknown").code == 0
    assert ready(fleet, "bundle/single") == "Paused"
    assert fleet.rmctl("resume", job).code == 0
    assert fleet.rmctl("wait", "bundle/single").code == 0
    assert fleet.rmctl("delete", "bundle/single").code == 0


def test_a_paused_pool_holds_all_that_stands_in_it(fleet: Fleet) -> None:
    assert fleet.rmctl("pause", "pool/default").code == 0
    assert fleet.rmctl("wait", "node/mybox", "--for=condition=Ready=False").code == 0
    assert fleet.rmctl("apply", "-f", "-", stdin=SLEEPER.replace("NAME", "later")).code == 0
    assert fleet.rmctl("wait", "bundle/later", "--for=condition=Ready=False").code == 0
    assert fleet.rmctl("get", "jobs").err == "no jobs in project default\n"
    assert fleet.rmctl("resume", "pool", "default").code == 0
    assert fleet.rmctl("wait", "node/mybox", "bundle/later").code == 0
    assert fleet.rmctl("delete", "bundle/later").code == 0


def test_a_held_server_decides_and_begins_nothing(held: Fleet) -> None:
    assert held.rmctl("pause", "server", "--reason", "a storm").out == "server holds all effects\n"
    assert held.rmctl("apply", "-f", "-", stdin=SLEEPER.replace("NAME", "calm")).code == 0
    assert held.rmctl("wait", "job/calm/primary/main", "--for=jsonpath={.status.node}=mybox").code == 0
    (effect,) = json.loads(held.rmctl("effects", "-o", "json").out)["items"][:1]
    assert (effect["kind"], effect["state"], effect["attempts"]) == ("StartJob", "pending", 0)
    doctor = json.loads(held.rmctl("doctor", "-o", "json").out)
    assert doctor["facts"]["held"]["reason"] == "a storm"
    assert held.rmctl("resume", "server").out == "server begins effects again\n"
    assert held.rmctl("wait", "bundle/calm").code == 0
    assert held.rmctl("delete", "bundle/calm").code == 0
