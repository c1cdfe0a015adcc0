"""GPUs as the agent reads them from a real shared library that answers as NVIDIA's does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cards import model_of
from tests.nvml_library import Machine, build

H100 = "NVIDIA H100 80GB HBM3"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def machine(tmp_path: Path, library: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, library)
    yield made
    made.close()


def card(number: int, name: str = H100, mib: int = 81559) -> str:
    return f"card GPU-{number} 00000000:{number + 1}A:00.0 {mib} {name}"


FOUR = tuple(card(number) for number in range(4))


def ids(told: dict) -> dict[str, bool]:
    return {device["id"]: device["healthy"] for device in told["devices"]}


def links(told: dict) -> dict[str, dict[str, str]]:
    return {device["id"]: device["links"] for device in told["devices"]}


@pytest.mark.req("P84")
def test_a_card_is_told_with_all_that_selectors_ask_for(machine: Machine) -> None:
    machine.has(card(0))
    machine.numa("0000:1a:00.0", 1)
    assert machine.open()
    assert machine.look()["devices"] == [
        {
            "id": "GPU-0",
            "kind": "gpu",
            "attributes": {
                "gpuProduct": H100,
                "gpuModel": "H100",
                "vramGiB": "80",
                "numaNode": "1",
                "architecture": "hopper",
                "computeCapability": "9.0",
                "migCapable": "true",
                "cuda.driver.major": "12",
            },
            "healthy": True,
            "bookable": True,
            "numa": 1,
            "parent": None,
            "links": {},
        }
    ]


@pytest.mark.req("P93", "P97")
def test_links_are_nvlink_where_two_cards_have_one_and_else_how_far_they_are_on_the_bus(machine: Machine) -> None:
    machine.has(*FOUR, "link 0 1", "link 1 0", "pci 0 2 10", "pci 1 2 20", "pci 0 3 30", "pci 2 3 40")
    machine.open()
    told = links(machine.look())
    assert told["GPU-0"] == {"GPU-1": "NV", "GPU-2": "PIX", "GPU-3": "PHB"}
    assert told["GPU-3"] == {"GPU-0": "PHB", "GPU-1": "SYS", "GPU-2": "NODE"}
    assert told["GPU-2"]["GPU-1"] == "PXB"


def test_cards_on_a_switch_are_all_joined(machine: Machine) -> None:
    machine.has(*FOUR, "switch 0", "switch 1", "switch 2")
    machine.open()
    assert links(machine.look())["GPU-0"] == {"GPU-1": "NV", "GPU-2": "NV", "GPU-3": "SYS"}


@pytest.mark.req("P94")
def test_a_card_that_is_cut_up_is_told_by_its_parts(machine: Machine) -> None:
    machine.has(*FOUR[:2], "mig 0", f"part 0 MIG-a 9856 {H100} MIG 1g.10gb", f"part 0 MIG-b 20096 {H100} MIG 2g.20gb")
    machine.open()
    first, second, whole = machine.look()["devices"]
    assert [one["parent"] for one in (first, second, whole)] == ["GPU-0", "GPU-0", None]
    assert (first["id"], first["attributes"]["vramGiB"], first["attributes"]["migProfile"]) == (
        "MIG-a",
        "10",
        "1g.10gb",
    )
    assert (second["id"], second["attributes"]["gpuModel"]) == ("MIG-b", "H100")


def test_a_card_that_is_to_be_cut_up_and_has_no_parts_takes_nobody(machine: Machine) -> None:
    machine.has(card(0), "mig 0")
    machine.open()
    assert [(one["id"], one["bookable"]) for one in machine.look()["devices"]] == [("GPU-0", False)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("lost 1", "GPU is lost"),
        ("ecc 1 3", "3 uncorrected memory errors"),
        ("rows 1", "a bad row of memory could not be replaced"),
        ("xid 1 79", "Xid 79"),
    ],
)
def test_one_sick_card_leaves_the_others_usable(machine: Machine, line: str, reason: str) -> None:
    machine.has(*FOUR)
    machine.open()
    before = machine.look()
    assert ids(before) == dict.fromkeys(("GPU-0", "GPU-1", "GPU-2", "GPU-3"), True)
    machine.has(*FOUR, line)
    told = machine.look()
    assert (ids(told), told["sick"]) == ({**ids(before), "GPU-1": False}, {"GPU-1": reason})
    assert told["devices"][1]["attributes"] == before["devices"][1]["attributes"]


def test_the_parts_of_a_sick_card_are_sick(machine: Machine) -> None:
    lines = (card(0), "mig 0", f"part 0 MIG-a 9856 {H100} MIG 1g.10gb")
    machine.has(*lines)
    machine.open()
    machine.look()
    machine.has(*lines, "lost 0")
    assert ids(machine.look()) == {"MIG-a": False}


def test_a_card_that_is_gone_from_the_list_is_sick_until_it_is_back(machine: Machine) -> None:
    machine.has(*FOUR[:3])
    machine.open()
    machine.look()
    machine.has(FOUR[0], FOUR[2])
    assert ids(machine.look()) == {"GPU-0": True, "GPU-1": False, "GPU-2": True}
    machine.has(*FOUR[:3])
    assert ids(machine.look()) == dict.fromkeys(("GPU-0", "GPU-1", "GPU-2"), True)


def test_a_program_that_fails_makes_no_card_sick_and_an_error_of_the_card_is_not_forgotten(machine: Machine) -> None:
    machine.has(*FOUR)
    machine.open()
    machine.look()
    machine.has(*FOUR, "xid 0 13", "xid 1 31", "xid 2 48")
    assert machine.look()["sick"] == {"GPU-2": "Xid 48"}
    assert machine.look()["sick"] == {"GPU-2": "Xid 48"}


def test_a_library_that_does_not_answer_judges_no_card(machine: Machine) -> None:
    machine.has(*FOUR, "broken")
    machine.open()
    assert machine.look() == {"unreadable": "Unknown Error"}
    machine.has(*FOUR)
    assert all(ids(machine.look()).values())


def test_without_a_driver_there_are_no_cards(tmp_path: Path, library: Path) -> None:
    for made in (Machine(tmp_path, library, FAKE_NVML_NO_DRIVER="1"), Machine(tmp_path, tmp_path)):
        assert not made.open()
        made.close()


@pytest.mark.parametrize(
    ("product", "model"),
    [
        (H100, "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA GeForce RTX 4090", "4090"),
        ("NVIDIA L4", "L4"),
        ("Graphics Device", "Graphics Device"),
    ],
)
def test_the_model_is_the_word_that_people_say(product: str, model: str) -> None:
    assert model_of(product) == model
