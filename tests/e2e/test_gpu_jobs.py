"""Cards from a file: jobs that get them are told which, a sick one takes nothing more, and the rest goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import Fleet, a_fleet

JOB = """\
apiVersion: rmctl/v1
kind: bundle
metadata: {{name: {name}}}
spec:
  pool: default
  jobs:
    - jobName: train
      command: [sh, -c, "echo $RM_DEVICES $RM_GPU_INDEX; exec sleep 1000"]
      requirements:
        requiredCapacity: 0.1
        onRuntimeFailure: avoidSpare
        {asks}
"""
PAIR = 'devices: [{class: gpu, count: 2, selector: "gpuModel = H100, vramGiB >= 80", topology: nvlink-all}]'
HALF = "requiredGpuCapacity: 0.5\n        requiredGpuModel: H100"


def cards(*sick: int) -> str:
    """Four cards; 1 and 2 are linked to each other, the others by the bus."""
    listed = [
        {
            "id": f"GPU-{at}",
            "class": "gpu",
            "attributes": {"gpuModel": "H100", "vramGiB": 80},
            "healthy": at not in sick,
            "links": {f"GPU-{other}": "NV18" if {at, other} == {1, 2} else "PHB" for other in range(4) if other != at},
        }
        for at in range(4)
    ]
    return json.dumps(listed)


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with a_fleet() as made:
        made.server()
        (made.folder / "devices.json").write_text(cards())
        made.agent("box", "--capacity", "4", "--devices", str(made.folder / "devices.json"))
        assert made.rmctl("wait", "node/box").code == 0
        yield made


def apply(fleet: Fleet, folder: Path, name: str, asks: str, *flags: str):
    path = folder / f"{name}.yaml"
    path.write_text(JOB.format(name=name, asks=asks))
    return fleet.rmctl("apply", "-f", str(path), *flags)


def told(fleet: Fleet, what: str, path: str) -> str:
    return fleet.rmctl("get", what, "-o", f"jsonpath={{{path}}}").out.strip()


@pytest.mark.req("S11")
def test_a_job_gets_the_linked_cards_and_is_told_which(fleet: Fleet, tmp_path: Path) -> None:
    ran = apply(fleet, tmp_path, "pair", PAIR, "--wait")
    assert ran.code == 0, ran.err
    assert told(fleet, "job/pair/primary/train", ".status.devices[*]") == "GPU-1 GPU-2"
    assert fleet.rmctl("logs", "pair/train").out == "GPU-1,GPU-2 1\n"
    refused = apply(fleet, tmp_path, "other", PAIR)
    assert refused.code == 0, refused.err
    waited = fleet.rmctl("wait", "job/other/primary/train", "--for=condition=Unschedulable")
    assert waited.code == 0, waited.err
    why = fleet.rmctl("why", "job/other/primary/train").out
    assert "topology: no NVLink-complete set of 2 gpu" in why
    for name in ("pair", "other"):
        assert fleet.rmctl("delete", f"bundle/{name}").code == 0


def test_a_sick_card_is_passed_over_from_the_next_report_on(fleet: Fleet, tmp_path: Path) -> None:
    (fleet.folder / "devices.json").write_text(cards(0))
    sick = fleet.rmctl("wait", "node/box", "--for=jsonpath={.status.gpus[0].healthy}=false")
    assert sick.code == 0, sick.err
    assert fleet.rmctl("wait", "node/box").code == 0
    ran = apply(fleet, tmp_path, "half", HALF, "--wait")
    assert ran.code == 0, ran.err
    assert fleet.rmctl("logs", "half/train").out == "GPU-1 1\n"
    reserved = fleet.rmctl("wait", "node/box", "--for=jsonpath={.status.gpus[1].reserved}=0.5")
    assert reserved.code == 0, reserved.err
    assert fleet.rmctl("delete", "bundle/half").code == 0


@pytest.mark.req("P68", "P8")
def test_a_wrong_ask_is_refused_with_its_field(fleet: Fleet, tmp_path: Path) -> None:
    cases = {
        "devices: [{class: gpu, count: 0}]": "devices[0].count: must be >= 1",
        "devices: [{class: gpu, count: 1.5}]": "devices[0].count: expected an integer",
        "devices: [{class: gpu}]": "exactly one of count, units",
        'devices: [{class: gpu, count: 1, selector: "a b"}]': "devices[0].selector: column 3: expected =",
        "devices: [{class: gpu, count: 1, selector: {matchExpressions: [{key: a, op: Is}]}}]": '"Is" is not one of In',
    }
    for asks, said in cases.items():
        refused = apply(fleet, tmp_path, "wrong", asks)
        assert (refused.code, said in refused.err) == (2, True), refused.err


@pytest.mark.req("F177")
def test_a_plan_names_the_place_that_applying_takes_and_changes_nothing(fleet: Fleet, tmp_path: Path) -> None:
    path = tmp_path / "asked.yaml"
    path.write_text(JOB.format(name="asked", asks=PAIR))
    claimed = told(fleet, "node/box", ".status.capacity")
    planned = fleet.rmctl("plan", "-f", str(path), "-o", "json")
    assert planned.code in (0, 1), planned.err
    (item,) = json.loads(planned.out)["items"]
    assert [(one["answer"], one["node"]) for one in item["placements"]] == [("placed", "box")]
    assert (fleet.rmctl("get", "bundle/asked").code, told(fleet, "node/box", ".status.capacity")) == (3, claimed)
    assert fleet.rmctl("apply", "-f", str(path), "--wait").code == 0
    assert told(fleet, "job/asked/primary/train", ".status.node") == "box"
    assert fleet.rmctl("delete", "bundle/asked").code == 0


@pytest.mark.req("P10")
def test_a_decision_is_made_again_from_the_log_and_comes_out_equal(fleet: Fleet, tmp_path: Path) -> None:
    ran = apply(fleet, tmp_path, "again", HALF, "--wait")
    assert ran.code == 0, ran.err
    assert apply(fleet, tmp_path, "big", "devices: [{class: gpu, count: 9}]").code == 0
    assert fleet.rmctl("wait", "job/big/primary/train", "--for=condition=Unschedulable").code == 0
    for name, outcome in (("again", "placed"), ("big", "unschedulable")):
        replayed = fleet.rmctl("dev", "replay", f"job/{name}/primary/train", "-o", "json")
        found = json.loads(replayed.out)
        assert (replayed.code, found["equal"], found["decided"]["outcome"]) == (0, True, outcome), replayed.out
    told = fleet.rmctl("dev", "replay", "job/again/primary/train").out
    assert told.splitlines()[0].endswith(": equal")
    assert fleet.rmctl("dev", "replay", "999999").code == 3
    for name in ("again", "big"):
        assert fleet.rmctl("delete", f"bundle/{name}").code == 0
