"""What a bundle is told before it is stored: what is wrong with it, and what would keep its jobs waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli_runs import Ran
from tests.fleet import Fleet, a_fleet


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with a_fleet() as found:
        found.server()
        found.agent("node-v", "--capacity", "2", "--capability", "ssd")
        yield found


def a_bundle(*entries: dict[str, Any], pool: str = "default") -> str:
    """One entry a job name and what it asks for."""
    jobs = []
    for number, entry in enumerate(entries):
        needs = {"requiredCapacity": 0.5, "onRuntimeFailure": "avoidSpare", **entry}
        jobs.append({"jobName": f"j{number}", "command": ["sleep", "1000"], "requirements": needs})
    spec = {"pool": pool, "jobs": jobs}
    return json.dumps({"apiVersion": "rmctl/v1", "kind": "bundle", "metadata": {"name": "valid"}, "spec": spec})


def planned(fleet: Fleet, bundle: str) -> tuple[int, dict[str, Any]]:
    """The exit code and what is told of the bundle."""
    ran = fleet.rmctl("plan", "-f", "-", "-o", "json", stdin=bundle)
    (item,) = json.loads(ran.out)["items"]
    return ran.code, item


def stored(fleet: Fleet) -> str:
    return fleet.rmctl("get", "bundles,jobs", "-o", "name").out


@pytest.mark.req("F347", "F348")
def test_everything_wrong_is_told_at_once_and_nothing_is_stored(fleet: Fleet) -> None:
    bad = json.loads(a_bundle({}, pool="nowhere"))
    bad["spec"]["jobs"][0]["template"] = "video"
    applied = fleet.rmctl("apply", "-f", "-", stdin=json.dumps(bad))
    assert (applied.code, applied.out, stored(fleet)) == (2, "", "")
    told = [line.rpartition(": ")[2] for line in applied.err.splitlines() if line.startswith("rmctl: error: ")]
    assert told == ['no pool "nowhere"', 'no template "video"']


@pytest.mark.req("F347", "F349")
def test_what_does_not_fit_now_is_a_warning_and_does_not_keep_a_bundle_out(fleet: Fleet) -> None:
    code, item = planned(fleet, a_bundle({}, {"requiredCapacity": 8}))
    assert code == 6
    assert item["warnings"] == ["job/valid/primary/j1 would wait: no node fits (1 nodes): 1 × fits: 1.5 of 8 vcpu free"]
    assert (stored(fleet), fleet.rmctl("apply", "-f", "-", stdin=a_bundle({"requiredCapacity": 8})).code) == ("", 0)
    assert fleet.rmctl("delete", "bundle/valid").code == 0


def test_what_fits_has_no_warning(fleet: Fleet) -> None:
    code, item = planned(fleet, a_bundle({}))
    assert (code, item["warnings"]) == (0, [])


@pytest.mark.req("F354")
def test_a_capability_that_nothing_in_the_pool_has_is_told_by_name(fleet: Fleet) -> None:
    _, item = planned(fleet, a_bundle({"requiredCapabilities": ["nvenc", "ssd"]}))
    assert item["warnings"][1:] == ["job/valid/primary/j0: nothing in its pool has nvenc"]


def place(fleet: Fleet, *words: str) -> Ran:
    return fleet.rmctl("place", "-f", "-", *words, stdin=a_bundle({}, {"requiredCapacity": 8}))


@pytest.mark.req("F361")
def test_the_trace_of_one_job_is_told_and_nothing_happens(fleet: Fleet) -> None:
    before = fleet.rmctl("get", "node/node-v", "-o", "jsonpath={.metadata.resourceVersion}").out
    one = place(fleet, "valid/primary/j0")
    assert one.code == 0
    assert "node-v  chosen" in one.out
    assert "j1" not in one.out
    other = place(fleet, "valid/j1")
    assert other.code == 6
    assert "node-v  refused  fits: 1.5 of 8 vcpu free" in other.out
    assert fleet.rmctl("get", "node/node-v", "-o", "jsonpath={.metadata.resourceVersion}").out == before
    assert stored(fleet) == ""


def test_a_job_that_is_not_in_the_file_is_not_traced(fleet: Fleet) -> None:
    ran = place(fleet, "valid/j7")
    told = "rmctl: error: job/valid/primary/j7 is not in what was given"
    assert (ran.code, ran.out, ran.err.splitlines()[0]) == (2, "", told)
