"""What a job is told, and what is filled in for it."""

from __future__ import annotations

from typing import Any

import pytest

from agent.environment import build, fill, filled
from agent.errors import InvalidSpec
from agent.order import Probe
from tests.unit.agent.orders import an_order

VALUES = {"param.rate": "4500", "param.other": "${param.rate}", "node.address": "127.0.0.11"}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("plain $HOME $(id) ${", "plain $HOME $(id) ${"),
        ("${param.rate}k", "4500k"),
        ("http://${node.address}:${param.rate}/", "http://127.0.0.11:4500/"),
        ("$${param.rate}", "${param.rate}"),
        ("$$${param.rate}", "$${param.rate}"),
        ("${param.other}", "${param.rate}"),
    ],
)
def test_references_are_filled_in_once(text: str, becomes: str):
    assert fill(text, VALUES, "command[0]") == becomes


@pytest.mark.parametrize("text", ["${param.nope}", "${HOME}", "${}", "${node.name}"])
def test_an_unknown_reference_is_refused_with_its_place(text: str):
    with pytest.raises(InvalidSpec, match=r"^env\.X: unknown reference \$\{"):
        fill(text, VALUES, "env.X")


def test_command_environment_and_probes_are_filled_in():
    probe = Probe(http="http://${node.address}:8201/")
    order = an_order(command=("a", "${param.n}"), env={"B": "${param.n}"}, parameters={"n": "1"}, readiness=probe)
    done = filled(order, "10.0.0.9")
    assert done.readiness is not None
    assert (done.command, done.env, done.readiness.http) == (("a", "1"), {"B": "1"}, "http://10.0.0.9:8201/")


def test_of_the_agents_environment_only_a_few_names_are_passed_on():
    own = {
        "PATH": "/bin",
        "HOME": "/h",
        "USER": "u",
        "LANG": "C",
        "TZ": "UTC",
        "LC_ALL": "C",
        "LD_PRELOAD": "x",
        "A": "b",
    }
    built = build(an_order(env={"HOME": "/mine"}), {"KEY": "s"}, own, address="127.0.0.11", socket="/s")
    assert built == {
        "PATH": "/bin",
        "HOME": "/mine",
        "USER": "u",
        "LANG": "C",
        "TZ": "UTC",
        "LC_ALL": "C",
        "KEY": "s",
        "RM_JOB": "ch-1/primary/encode",
        "RM_INSTANCE": "u1-1-1",
        "RM_ATTEMPT": "1",
        "RM_RUNTIME_ROLE": "primary",
        "NORSK_RUNTIME_ROLE": "primary",
        "RM_NODE_ADDRESS": "127.0.0.11",
        "RM_JOB_SOCKET": "/s",
    }


@pytest.mark.parametrize(
    ("fields", "secrets", "words"),
    [
        ({"env": {"RM_JOB": "x"}}, {}, "env.RM_JOB: names that start with RM_ or NORSK_ are reserved"),
        ({}, {"NORSK_X": "x"}, "secretEnv.NORSK_X: names that start with RM_ or NORSK_ are reserved"),
        ({"env": {"A B": "x"}}, {}, "env: 'A B' must match "),
        ({"env": {"A": "a\0b"}}, {}, "env.A: must not contain a null character"),
        ({"parameters": {"a-b": "1", "a.b": "2"}}, {}, 'parameters: "a-b" and "a.b" are both RM_PARAM_A_B'),
    ],
)
def test_names_that_a_job_may_not_set_are_refused(fields: dict[str, Any], secrets: dict[str, str], words: str):
    with pytest.raises(InvalidSpec) as refusal:
        build(an_order(**fields), secrets, {}, address="", socket="")
    assert str(refusal.value).startswith(words)


def test_parameters_are_spelled_in_capitals():
    built = build(an_order(parameters={"bit-rate": "4500", "été": "x"}), {}, {}, address="", socket="")
    assert {name: text for name, text in built.items() if name.startswith("RM_PARAM_")} == {
        "RM_PARAM_BIT_RATE": "4500",
        "RM_PARAM__T_": "x",
    }


def test_a_job_is_told_which_devices_it_got():
    told = build(an_order(devices=("GPU-a", "GPU-b"), gpu_index=3), {}, {}, address="", socket="")
    assert (told["RM_DEVICES"], told["RM_GPU_INDEX"]) == ("GPU-a,GPU-b", "3")
    assert not {"RM_DEVICES", "RM_GPU_INDEX"} & set(build(an_order(), {}, {}, address="", socket=""))


def test_cards_that_a_driver_names_are_all_that_cuda_sees_unless_the_job_says_otherwise():
    cards = tuple(f"{kind}-0123abcd-0123-4567-89ab-0123456789a{at}" for at, kind in enumerate(("GPU", "MIG")))
    told = build(an_order(devices=(*cards, "nic-1")), {}, {}, address="", socket="")
    assert {told["CUDA_VISIBLE_DEVICES"], told["NVIDIA_VISIBLE_DEVICES"]} == {",".join(cards)}
    own = build(an_order(devices=cards, env={"CUDA_VISIBLE_DEVICES": "0"}), {}, {}, address="", socket="")
    assert own["CUDA_VISIBLE_DEVICES"] == "0"
    assert "CUDA_VISIBLE_DEVICES" not in build(an_order(devices=("GPU-a",)), {}, {}, address="", socket="")
