"""What a node says it has."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from agent import inventory
from agent.errors import SettingsRefused
from agent.inventory import take
from agent.settings import AgentSettings
from api.agent_wire import hello_of
from api.proto import agent_pb2 as wire
from api.proto.translate import inventory_from_wire
from controllers.node import NodeController, NodeView
from controllers.runtime.decision import Facts
from resources.devices import Device
from resources.facts import NodeFacts
from resources.node import NicStatus, Node, NodeSpec, NodeStatus
from resources.reference import Ref
from resources.version import VERSION
from store import nodes
from store.store import Store
from tests.clocked import Clocked


def settings(tmp_path: Path, **fields: Any) -> AgentSettings:
    return AgentSettings(node="a", server="unix:/s", data=tmp_path, **fields)


def test_a_machine_is_what_it_is_unless_told_otherwise(tmp_path: Path):
    taken = take(settings(tmp_path))
    cpus = len(os.sched_getaffinity(0))
    assert (taken.capacity_milli, taken.cores, taken.memory_mib > 0) == (cpus * 1000, cpus, True)


@pytest.mark.parametrize(("capacity", "milli", "cores"), [(8, 8000, 8), (2.5, 2500, 2), (0.5, 500, 0)])
def test_a_capacity_may_exceed_the_machine_and_cores_are_its_whole_part(
    tmp_path: Path, capacity: float, milli: int, cores: int
):
    taken = take(settings(tmp_path, capacity=capacity))
    assert (taken.capacity_milli, taken.cores) == (milli, cores)


@pytest.mark.parametrize("capacity", [0, -1, 0.0001])
def test_a_capacity_that_is_none_is_refused(tmp_path: Path, capacity: float):
    with pytest.raises(SettingsRefused, match=r"^--capacity: "):
        take(settings(tmp_path, capacity=capacity))


def listed(tmp_path: Path, *devices: Any) -> list[Device]:
    """As the server reads them."""
    path = tmp_path / "devices.json"
    path.write_text(json.dumps(devices))
    message = take(settings(tmp_path, devices=path, capacity=1))
    return list(inventory_from_wire(message, "1").devices)


@pytest.mark.req("F405")
def test_devices_come_from_a_file(tmp_path: Path):
    attributes = {"vramGiB": 80, "computeCapability": 9.5, "migCapable": True, "gpuModel": "H100", "serial": None}
    told = {"id": "gpu1", "class": "gpu", "attributes": attributes, "numa": 1, "parent": "card", "healthy": False}
    first, second = listed(
        tmp_path,
        {"id": "gpu0", "class": "gpu", "links": ["gpu1"], "bookable": False},
        {**told, "links": {"gpu0": "NV18", "nic0": "PXB"}},
    )
    assert first == Device("gpu0", "gpu", bookable=False, links={"gpu1": "NV"})
    spelled = {"vramGiB": "80", "computeCapability": "9.5", "migCapable": "true", "gpuModel": "H100"}
    assert second == Device("gpu1", "gpu", spelled, False, True, 1, "card", {"gpu0": "NV", "nic0": "PXB"})


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "expected a list of objects with id and class"),
        ([1], "[0]: expected an object with id and class"),
        ([{"id": "x"}], "[0].class: expected 1 to 63 letters"),
        ([{"id": "x", "class": "g p u"}], "[0].class: expected 1 to 63 letters"),
        ([{"id": "", "class": "gpu"}], "[0].id: expected 1 to 253 printable ASCII characters, no blank and no comma"),
        ([{"id": "a,b", "class": "gpu"}], "[0].id: expected 1 to 253 printable ASCII"),
        ([{"id": "a\0", "class": "gpu"}], "[0].id: expected 1 to 253 printable ASCII"),
        ([{"id": "\ud800", "class": "gpu"}], "[0].id: expected 1 to 253 printable ASCII"),
        ([{"id": "x", "class": "gpu", "parent": ""}], "[0].parent: expected 1 to 253 printable ASCII"),
        ([{"id": "x", "class": "gpu", "parent": "x"}], '[0].parent: "x" is a part itself'),
        (
            [{"id": "x", "class": "g", "parent": "y"}, {"id": "y", "class": "g", "parent": "z"}],
            '[0].parent: "y" is a part',
        ),
        ([{"id": "x", "class": "gpu", "links": ["x"]}], "[0].links: 'x' is not the id of another device"),
        ([{"id": "x", "class": "gpu", "attributes": {"a": float("nan")}}], "expected JSON: NaN is no number"),
        ([{"id": "x", "class": "gpu", "attributes": {"a": "b" * 1025}}], "[0].attributes.'a': at most 1024 printable"),
        (
            [{"id": "x", "class": "gpu", "attributes": {f"k{at}": "v" * 999 for at in range(1100)}}],
            "at most 1048576 bytes",
        ),
        ([{"id": "x", "class": "gpu", "numa": 2**31}], "[0].numa: expected a whole number of 0 to 65535"),
        ([{"id": "x", "class": "gpu"}, {"id": "x", "class": "gpu"}], '[1].id: "x" is listed twice'),
        ([{"id": "x", "class": "gpu", "numa": -1}], "[0].numa: expected a whole number of 0 to 65535"),
        ([{"id": "x", "class": "gpu", "healthy": "yes"}], "[0].healthy: expected true or false"),
        ([{"id": "x", "class": "gpu", "links": {"y": "ETH"}}], "[0].links.y: expected one of NV, PIX, PXB, PHB, NODE"),
        ([{"id": "x", "class": "gpu", "links": 5}], "[0].links: expected a list of ids"),
        ([{"id": "x", "class": "gpu", "attributes": {"a": []}}], "[0].attributes.a: expected text, a number"),
        ([{"id": "x", "class": "gpu", "model": "H100"}], "[0]: unknown field model; known are attributes, bookable"),
    ],
)
def test_a_devices_file_of_another_shape_is_refused_with_its_place(tmp_path: Path, document: Any, said: str):
    path = tmp_path / "devices.json"
    path.write_text(json.dumps(document))
    with pytest.raises(SettingsRefused, match=f"^--devices: {re.escape(str(path))}: {re.escape(said)}"):
        take(settings(tmp_path, devices=path))


@pytest.mark.parametrize("content", ["", "{}x"])
def test_a_devices_file_that_is_no_json_is_refused(tmp_path: Path, content: str):
    path = tmp_path / "devices.json"
    path.write_text(content)
    with pytest.raises(SettingsRefused, match="expected JSON"):
        take(settings(tmp_path, devices=path))


def test_a_devices_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(SettingsRefused, match="No such file"):
        take(settings(tmp_path, devices=tmp_path / "none.json"))


@pytest.mark.req("F405")
def test_what_a_machine_has_reaches_the_store_and_its_node_shows_it(tmp_path: Path):
    """Cores, devices, network cards, capabilities, images and who it is."""
    path = tmp_path / "devices.json"
    path.write_text(json.dumps([{"id": "gpu0", "class": "gpu"}]))
    taken = take(settings(tmp_path, capacity=4, capabilities=("nvenc",), devices=path))
    assert [device.id for device in taken.devices] == ["gpu0"]
    assert [(one.id, one.version, list(one.kinds)) for one in taken.drivers] == [("process", VERSION, ["command"])]
    taken.images.append("registry.example/encoder:3")
    taken.nics.add(name="eth9", addresses=["10.0.0.9"], speed_mbit=25_000)
    taken.machine_id = "0123456789abcdef"
    said = hello_of(wire.Hello(node="a", boot_id="b", inventory=taken), 0.0)
    facts = NodeFacts("a", said.boot_id, said.inventory, 1.0, connected=True)
    store = Store.open(tmp_path, Clocked())
    store.write(lambda tx: nodes.put_facts(tx, facts))
    with store.read() as tx:
        stored = nodes.facts(tx, "a")
    store.close()
    assert stored == facts
    node = Node(Ref("node", "a"), "u", 1, 1, NodeSpec(pool="local"), NodeStatus())
    status = NodeController().decide(node, NodeView(facts=stored), Facts(now=1.0)).status
    assert isinstance(status, NodeStatus)
    assert status.capacity["cores"].total == 4
    assert (status.capabilities, status.images) == (("devices.limits", "nvenc"), ("registry.example/encoder:3",))
    assert (status.machine_id, status.boot_id) == ("0123456789abcdef", "b")
    assert NicStatus(name="eth9", addresses=("10.0.0.9",), speed_mbit=25_000) in status.nics


def test_a_machine_is_called_what_its_operating_system_calls_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    absent, named = tmp_path / "absent", tmp_path / "machine-id"
    monkeypatch.setattr(inventory, "MACHINE_IDS", (absent, named))
    assert take(settings(tmp_path)).machine_id == ""
    named.write_text("0123\n")
    assert take(settings(tmp_path)).machine_id == "0123"


@pytest.mark.parametrize(
    ("text", "said"),
    [("[" * 100_000, "expected JSON: nested too deeply"), ('[{"id": "a", "id": "b"}]', '"id" is written twice')],
)
def test_a_devices_file_that_only_looks_like_json_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "devices.json"
    path.write_text(text)
    with pytest.raises(SettingsRefused, match=re.escape(said)):
        take(settings(tmp_path, devices=path))
