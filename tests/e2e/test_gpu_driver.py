"""Cards that a driver tells of, from its library to a job's environment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet import Fleet, a_fleet
from tests.nvml_library import Machine, build

UUIDS = [f"GPU-0000000{at}-aaaa-bbbb-cccc-0123456789ab" for at in range(3)]
CARDS = [f"card {uuid} 00000000:{at + 1}A:00.0 81559 NVIDIA H100 80GB HBM3" for at, uuid in enumerate(UUIDS)]
LINKED = ["link 0 1", "link 1 0"]
JOB = """\
apiVersion: rmctl/v1
kind: bundle
metadata: {name: pair}
spec:
  pool: default
  jobs:
    - jobName: train
      command: [sh, -c, "echo $RM_DEVICES $CUDA_VISIBLE_DEVICES; exec sleep 1000"]
      requirements:
        requiredCapacity: 0.1
        onRuntimeFailure: avoidSpare
        devices: [{class: gpu, count: 2, selector: "gpuModel = H100, vramGiB >= 80", topology: nvlink-all}]
"""


class House:
    """A fleet on a machine with three cards, and what they tell."""

    def __init__(self, fleet: Fleet, machine: Machine) -> None:
        self.fleet = fleet
        self.machine = machine

    def healthy(self, at: int, truth: str) -> None:
        """Wait until the node says so."""
        found = self.fleet.rmctl("wait", "node/box", f"--for=jsonpath={{.status.gpus[{at}].healthy}}={truth}")
        assert found.code == 0, found.err


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("nvml")
    machine = Machine(folder, build(folder))
    machine.has(*CARDS, *LINKED)
    with a_fleet() as made:
        made.server()
        made.environment |= {name: machine.environment[name] for name in ("LD_LIBRARY_PATH", "FAKE_NVML")}
        made.agent("box", "--capacity", "4")
        assert made.rmctl("wait", "node/box").code == 0
        yield House(made, machine)


def gpus(fleet: Fleet, node: str) -> list[str]:
    found = json.loads(fleet.rmctl("get", f"node/{node}", "-o", "json").out)
    return [gpu["id"] for gpu in found["status"].get("gpus", [])]


@pytest.mark.req("S11")
def test_a_job_is_kept_to_the_cards_that_are_its_own(house: House, tmp_path: Path) -> None:
    house.healthy(2, "true")
    path = tmp_path / "pair.yaml"
    path.write_text(JOB)
    ran = house.fleet.rmctl("apply", "-f", str(path), "--wait")
    assert ran.code == 0, ran.err
    own = ",".join(UUIDS[:2])
    assert house.fleet.rmctl("logs", "pair/train").out == f"{own} {own}\n"


def test_a_card_that_is_lost_is_sick_and_the_others_stay(house: House) -> None:
    house.machine.has(*CARDS, *LINKED, "lost 2")
    house.healthy(2, "false")
    told = json.loads(house.fleet.rmctl("get", "node/box", "-o", "json").out)["status"]["gpus"]
    assert [(gpu["id"], gpu["healthy"]) for gpu in told] == list(zip(UUIDS, (True, True, False), strict=True))


def test_a_file_of_devices_counts_alone(house: House, tmp_path: Path) -> None:
    path = tmp_path / "devices.json"
    path.write_text(json.dumps([{"id": "mine", "class": "gpu"}]))
    house.fleet.agent("listed", "--capacity", "1", "--devices", str(path))
    house.fleet.agent("bare", "--capacity", "1", "--no-gpus")
    assert house.fleet.rmctl("wait", "node/listed", "node/bare").code == 0
    found = house.fleet.rmctl("wait", "node/listed", "--for=jsonpath={.status.gpus[0].id}=mine")
    assert found.code == 0, found.err
    assert (gpus(house.fleet, "listed"), gpus(house.fleet, "bare")) == (["mine"], [])
