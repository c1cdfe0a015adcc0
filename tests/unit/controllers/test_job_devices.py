"""A job that asks for devices: what it claims, what its start order says, what its status tells."""

from __future__ import annotations

import pytest

from controllers.job import JobController
from controllers.runtime.decision import Facts
from resources.devices import Booking
from tests.controllers_stage import Stage, a_job, crash, stage
from tests.placement_cards import cards
from tests.placement_worlds import a_claim

GPUS = [{"class": "gpu", "count": 2, "topology": "nvlink-all", "selector": "gpuModel = H100"}]


def on_a_gpu_node(**requirements: object) -> Stage:
    return Stage(a_job(requirements=requirements)).node("node-a", board=cards(4, gpuModel="H100"))


def claim_of(on: Stage):
    (claim,) = on.allocations.values()
    return claim


def test_the_claim_books_the_atoms_and_the_order_names_them() -> None:
    on = on_a_gpu_node(devices=GPUS)
    on.run()
    assert claim_of(on).devices == (Booking("gpu-00"), Booking("gpu-01"))
    assert claim_of(on).ends_at is None
    assert on.job.status.devices == ("gpu-00", "gpu-01")
    order = on.effects["start/1/1"].request
    assert (order["devices"], order["gpuIndex"]) == (["gpu-00", "gpu-01"], 0)


def claim(device: str, units: int):
    return a_claim("node-a", devices=((device, units),))


@pytest.mark.req("F206", "F207", "F208")
def test_a_part_of_a_gpu_is_booked_on_one_device_whose_index_is_told() -> None:
    on = on_a_gpu_node(requiredGpuCapacity=0.6, requiredGpuModel="H100")
    on.fleet.put_claim(claim("gpu-00", 500))
    on.run()
    assert claim_of(on).devices == (Booking("gpu-01", 600),)
    assert (on.job.status.gpu_index, on.effects["start/1/1"].request["gpuIndex"]) == (1, 1)


@pytest.mark.req("F210")
def test_the_capability_of_a_whole_gpu_books_one_and_asks_for_no_label() -> None:
    on = on_a_gpu_node(requiredCapabilities=["norsk.io/nvidia-gpu"])
    on.fleet.put_claim(claim("gpu-00", 1))
    on.run()
    assert claim_of(on).devices == (Booking("gpu-01", 1000),)


@pytest.mark.req("F205", "P135")
def test_without_such_a_device_it_waits_and_says_what_is_short() -> None:
    on = on_a_gpu_node(requiredGpuCapacity=0.6, requiredGpuModel="T4")
    on.run()
    sentence = "no node fits (1 nodes): 1 × fits: 0 of 0.6 gpu free where gpuModel = T4 (1 of any)"
    assert on.said("Unschedulable") == ("True", "NoFit", sentence)
    assert (on.job.status.devices, on.job.status.gpu_index) == ((), None)


def test_a_restart_books_its_devices_anew() -> None:
    on = on_a_gpu_node(devices=GPUS)
    on.up()
    crash(on)
    assert claim_of(on).id == "u-1.1.2"
    assert claim_of(on).devices == (Booking("gpu-00"), Booking("gpu-01"))
    assert on.job.status.devices == ("gpu-00", "gpu-01")


def test_a_job_without_devices_has_neither_a_window_nor_a_word_of_them() -> None:
    on = stage()
    on.run()
    assert (claim_of(on).devices, claim_of(on).starts_at) == ((), None)
    assert not {"devices", "gpuIndex"} & set(on.effects["start/1/1"].request)


def test_the_first_of_a_group_asks_for_the_devices_of_all() -> None:
    on = Stage(a_job(requirements={"devices": [{"class": "gpu", "count": 3}]}, coLocateWith=["log"]))
    on.sibling("ch.primary.log", requirements={"devices": [{"class": "gpu", "count": 2}]})
    on.node("node-a", board=cards(4))
    on.run()
    told = on.said("Unschedulable")
    assert told is not None
    assert "1 of 2 gpu free" in told[2]


@pytest.mark.req("P125", "PA22")
def test_after_three_lost_races_it_waits_with_the_last_ones_reason() -> None:
    on = on_a_gpu_node(devices=GPUS)
    lost = {"node-b": "vcpu on node-b ran out", "node-a": "an atom on node-a was booked concurrently"}
    decision = JobController().decide(on.job, on.view(), Facts(now=on.now, excluded=lost, conflicts=3))
    on.commit(decision)
    said = "Unschedulable after 3 conflicting attempts: an atom on node-a was booked concurrently"
    assert (on.said("Unschedulable"), decision.requeue_after) == (("True", "NoFit", said), 0)
    assert (on.job.status.phase, on.allocations) == ("pending", {})
