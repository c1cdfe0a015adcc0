"""The first minutes with rmctl: a server, a node, a bundle, a crash, a stop, all of it by the command line alone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import Fleet, a_fleet

TICK = """\
apiVersion: rmctl/v1
kind: bundle
metadata: {name: tick}
spec:
  pool: default
  jobs:
    - jobName: clock
      command: [sh, -c, "echo begun; exec sleep 1000"]
      requirements: {requiredCapacity: 0.5, onRuntimeFailure: avoidSpare}
    - jobName: spare
      command: [sleep, "1000"]
      startMode: manual
      requirements: {requiredCapacity: 1, onRuntimeFailure: avoidSpare}
"""
CLOCK = "job/tick/primary/clock"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with a_fleet() as made:
        assert made.server().line.startswith("rmctl server ready")
        assert made.agent("mybox", "--capacity", "4").line.split()[:4] == ["rmctl", "agent", "ready", "mybox"]
        assert made.rmctl("wait", "node/mybox").code == 0
        yield made


@pytest.fixture
def tick(fleet: Fleet, tmp_path: Path) -> Iterator[str]:
    """The file of a bundle that runs; it is gone afterwards."""
    path = tmp_path / "tick.yaml"
    path.write_text(TICK, encoding="utf-8")
    ran = fleet.rmctl("apply", "-f", str(path), "--wait")
    assert (ran.code, ran.out) == (0, "bundle/tick created\n"), ran.err
    yield str(path)
    gone = fleet.rmctl("delete", "bundle/tick", "--ignore-not-found")
    assert gone.code == 0, gone.err


@pytest.mark.req("S20")
def test_what_was_applied_runs_and_an_equal_apply_changes_nothing(fleet: Fleet, tick: str) -> None:
    again = fleet.rmctl("apply", "-f", tick)
    assert (again.code, again.out) == (0, "bundle/tick unchanged\n")
    assert fleet.rmctl("logs", "tick/clock").out == "begun\n"
    table = fleet.rmctl("get", "resources", "--no-headers").out.splitlines()
    assert [line.split()[:3] for line in table] == [
        ["pool/default", "True", "HasCapacity"],
        ["node/mybox", "True", "Connected"],
        ["bundle/tick", "True", "AllRunning"],
        [CLOCK, "True", "Running"],
        ["job/tick/primary/spare", "True", "Dormant"],
    ]


def test_a_killed_job_comes_back_and_says_why(fleet: Fleet, tick: str) -> None:
    pid = fleet.rmctl("get", CLOCK, "-o", "jsonpath={.status.pid}").out.strip()
    assert fleet.rmctl("stop", "tick/primary/spare").code == 0
    os.kill(int(pid), signal.SIGKILL)
    assert fleet.rmctl("wait", CLOCK, "--for=jsonpath={.status.attempt}=2").code == 0
    assert fleet.rmctl("wait", CLOCK).code == 0
    assert fleet.rmctl("get", CLOCK, "-o", "jsonpath={.status.pid}").out.strip() != pid
    told = fleet.rmctl("events", "--for", CLOCK).out
    assert "SIGKILL" in told
    described = fleet.rmctl("describe", CLOCK).out
    assert described.startswith(f"{CLOCK} runs on mybox, ready for ")
    assert "StartJob  applied" in described


def test_a_manual_job_starts_and_stops_on_demand(fleet: Fleet, tick: str) -> None:
    spare = "job/tick/primary/spare"
    assert fleet.rmctl("start", "tick/primary/spare").out == f"{spare} may run\n"
    assert fleet.rmctl("wait", spare, "--for=jsonpath={.status.phase}=running").code == 0
    assert fleet.rmctl("stop", "tick/primary/spare", "--now").out == f"{spare} is held\n"
    assert fleet.rmctl("wait", spare, "--for=jsonpath={.status.phase}=dormant").code == 0


def test_why_tells_how_a_job_that_runs_got_there_and_why_there(fleet: Fleet, tick: str) -> None:
    told = fleet.rmctl("why", "tick/clock").out
    begun = told.partition("How it got here\n")[2].partition("\nWhy this node\n")[0].splitlines()
    words = [line.split(maxsplit=1)[1] for line in begun]
    assert words[1].startswith("placed on mybox of 1 node, tier local")
    assert [word.partition(" ")[0] for word in words[2:]] == ["StartJob", "applied", "ready"]
    assert "generation" in words[0]
    assert "mybox  chosen  the only one that fits" in told.partition("Why this node\n")[2]


def test_a_restart_gives_a_new_process_and_counts_nothing(fleet: Fleet, tick: str) -> None:
    before = fleet.rmctl("get", CLOCK, "-o", "jsonpath={.status.pid}").out
    ran = fleet.rmctl("restart", "bundle/tick")
    assert (ran.code, ran.out) == (0, "bundle/tick restarted\n")
    pid, used = fleet.rmctl("get", CLOCK, "-o", "jsonpath={.status.pid} {.status.restarts.lastHour}").out.split()
    assert (pid != before.strip(), used) == (True, "0")


def test_what_cannot_be_placed_waits_and_says_why(fleet: Fleet) -> None:
    big = TICK.replace("tick", "big").replace("requiredCapacity: 0.5", "requiredCapacity: 6")
    plan = fleet.rmctl("plan", "-f", "-", stdin=big)
    assert plan.code == 6
    assert "job/big/primary/clock  waits" in plan.out
    assert fleet.rmctl("apply", "-f", "-", stdin=big).code == 0
    job = "job/big/primary/clock"
    assert fleet.rmctl("wait", job, "--for=condition=Unschedulable").code == 0
    why = fleet.rmctl("why", job).out
    described = fleet.rmctl("describe", job).out
    assert why.splitlines()[0] == described.splitlines()[0]
    assert why.startswith(f"{job} waits for a place: no node fits (1 node")
    assert fleet.rmctl("delete", "bundle", "big").out == "bundle/big deleted\n"


def test_a_plan_tells_what_stays_what_starts_anew_and_what_then_has_no_place(fleet: Fleet, tick: str) -> None:
    done = TICK.replace("startMode: manual", "restartOn: failure").replace('[sleep, "1000"]', '["true"]')
    assert fleet.rmctl("apply", "-f", "-", "--wait", stdin=done).code == 0
    assert fleet.rmctl("wait", "job/tick/primary/spare", "--for=jsonpath={.status.phase}=completed").code == 0

    def planned(manifest: str) -> list[list[str]]:
        return [line.split() for line in fleet.rmctl("plan", "-f", "-", stdin=manifest).out.splitlines()[-2:]]

    completed = ["job/tick/primary/spare", "completed", "stays"]
    assert planned(done) == [[CLOCK, "on", "mybox", "stays"], completed]
    larger = done.replace("requiredCapacity: 0.5", "requiredCapacity: 3.9")
    assert planned(larger) == [[CLOCK, "→", "mybox", "restarts,", "tier", "local"], completed]
    assert fleet.rmctl("plan", "-f", "-", stdin=larger.replace("3.9", "4.5")).code == 6


def test_nothing_more_is_placed_on_a_cordoned_node(fleet: Fleet) -> None:
    assert fleet.rmctl("cordon", "mybox", "--reason", "disk").out == "node/mybox cordoned\n"
    assert fleet.rmctl("wait", "node/mybox", "--for=condition=Schedulable=False").code == 0
    assert fleet.rmctl("get", "node/mybox", "--no-headers").out.rstrip().endswith("cordoned (disk)")
    assert fleet.rmctl("uncordon", "mybox").code == 0
    assert fleet.rmctl("wait", "node/mybox", "--for=condition=Schedulable").code == 0


@pytest.mark.req("S5", "B10", "B49", "B52", "B64", "B71", "B72")
@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("avoidSpare", "restrat", '9:45: spec.jobs[0].requirements.onRuntimeFailure: "restrat" is not one of'),
        ("spec:", "spec:\n  replica: 2", "5:3: unknown field spec.replica"),
        ("pool: default", "pool: defualt", '5:3: spec.pool: no pool "defualt"'),
        (
            "requiredCapacity: 0.5",
            "requiredCapacity: 0",
            "9:22: spec.jobs[0].requirements.requiredCapacity: must be > 0",
        ),
        (
            "requiredCapacity: 0.5",
            "requiredCapacity: .nan",
            "9:40: spec.jobs[0].requirements.requiredCapacity: NaN is not JSON",
        ),
        ("kind: bundle", "kind: bundel", '2:1: kind: unknown kind "bundel" (did you mean bundle?)'),
        ("name: tick", "name: Tick_1", "3:12: metadata.name: must match"),
        ("jobName: spare", "jobName: clock", "6:3: spec.jobs"),
        ("metadata:", "spec: {}\nmetadata:", '5:1: spec: duplicate key "spec"'),
    ],
)
def test_a_bad_file_is_refused_at_its_line_and_stores_nothing(
    fleet: Fleet, tmp_path: Path, old: str, new: str, line: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(TICK.replace(old, new, 1), encoding="utf-8")
    ran = fleet.rmctl("apply", "-f", str(path))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"rmctl: error: {tmp_path}/bad.yaml:{line}"), ran.err
    assert fleet.rmctl("get", "bundles").err == "no bundles in project default\n"


@pytest.mark.req("S5")
def test_one_bad_document_keeps_the_whole_file_out(fleet: Fleet) -> None:
    two = f"{TICK}---\nkind: pool\napiVersion: rmctl/v1\nmetadata: {{name: x}}\nspec: {{tiers: []}}\n"
    ran = fleet.rmctl("apply", "-f", "-", stdin=two)
    assert (ran.code, ran.err.splitlines()[0]) == (2, "rmctl: error: stdin:18:8: spec.tiers: at least 1 needed")
    assert fleet.rmctl("get", "bundles").err == "no bundles in project default\n"


@pytest.mark.req("S20", "B91")
def test_each_end_has_its_code(fleet: Fleet, tick: str) -> None:
    codes = {
        " ".join(words): fleet.rmctl(*words).code
        for words in (
            ("get", "bundle/tick"),
            ("get", "bundle/nosuch"),
            ("get", "nosuchkind"),
            ("wait", "bundle/tick", "--for=condition=Stalled", "--timeout=10ms"),
            ("get", "pools", "--server", f"unix:{fleet.folder}/none.sock"),
            ("delete", "job/tick/primary/clock"),
            ("delete", "pool/default"),
            ("server",),
        )
    }
    assert list(codes.values()) == [0, 3, 2, 7, 4, 3, 3, 5], codes


@pytest.mark.req("S20", "B111")
def test_a_second_server_names_the_first(fleet: Fleet) -> None:
    pid = json.loads(fleet.rmctl("server", "status", "-o", "json").out)["pid"]
    ran = fleet.rmctl("server")
    assert (ran.code, f"pid {pid}" in ran.err) == (5, True)
