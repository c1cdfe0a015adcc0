"""Messages of agents as values, and what breaks the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent.order import Probe, from_wire
from api.agent_wire import Malformed, answer_of, command_to_wire, hello_of, report_of, tail_of, up_of
from api.proto import agent_pb2 as wire
from api.proto.translate import instance_to_wire
from controllers.providers.agent_commands import ForgetJob, StartJob, StopJob
from resources.effect import Applied, Deferred, Rejected
from resources.facts import Instance
from resources.job import JobSpec
from tests.builders import a_job_spec

NOW = 1000.0
INSTANCE = Instance(
    uid="u",
    id="i",
    key="primary",
    node="node-a",
    attempt=2,
    state="exited",
    pid=7,
    ports=("8101/tcp",),
    code=3,
    started_at=900.0,
    ready_at=901.0,
    at=950.0,
    ran_seconds=50.0,
    reason="words",
    ready=False,
    not_ready_detail="tcp 80 refuses",
    job="b.primary.web",
)


def a_hello() -> wire.Hello:
    return wire.Hello(
        node="node-a",
        boot_id="b",
        inventory=wire.Inventory(capacity_milli=4000, cores=4, memory_mib=1024, capabilities=["nvenc"]),
        instances=[instance_to_wire(INSTANCE)],
    )


def test_an_instance_survives_the_wire():
    assert hello_of(a_hello(), NOW).instances == (INSTANCE,)


@pytest.mark.req("B107")
def test_an_instant_in_the_future_reads_as_now():
    message = wire.Report(seq=1, instance=instance_to_wire(INSTANCE))
    message.instance.at = NOW + 10 * 365 * 86400
    assert report_of(message, "node-a", NOW)[1].at == NOW


@pytest.mark.req("F200", "F416")
@pytest.mark.parametrize(("cap", "read"), [(0.5, 0.5), (1, 1), (8, 1), (0, 1), (-1, 1), (float("nan"), 1)])
def test_a_utilization_cap_outside_its_range_reads_as_one(cap: float, read: float):
    message = a_hello()
    message.inventory.utilization_cap = cap
    assert hello_of(message, NOW).inventory.utilization_cap == read


@pytest.mark.req("B105")
@pytest.mark.parametrize("data", [b"\xff\xff", b"\x0a\x05ab", b"\x0a\x04\x0a\x02\xff\xfe"])
def test_bytes_that_are_no_message_are_refused(data: bytes):
    with pytest.raises(Malformed, match=r"^not a message"):
        up_of(data)


@pytest.mark.req("B105")
@pytest.mark.parametrize("data", [b"", wire.Up().SerializeToString(), b"\xfa\x7f\x01x"])
def test_a_message_that_says_nothing_known_is_refused(data: bytes):
    with pytest.raises(Malformed, match=r"^message: none of those"):
        up_of(data)


@pytest.mark.req("B105")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: setattr(h, "node", "Node A"), "hello.node: must match"),
        (lambda h: setattr(h, "node", ""), "hello.node: must match"),
        (lambda h: setattr(h.inventory, "capacity_milli", 0), "hello.inventory: capacity must be above 0"),
        (lambda h: h.ClearField("inventory"), "hello.inventory: capacity must be above 0"),
        (lambda h: h.inventory.capabilities.append("a b"), "hello.inventory.capabilities: must match"),
        (lambda h: h.inventory.labels.update({"a b": "c"}), "hello.inventory.labels: 'a b': expected [PREFIX/]NAME"),
        (lambda h: h.inventory.labels.update({"k": "x" * 300}), "hello.inventory.labels: 'k': at most 63 characters"),
        (
            lambda h: h.inventory.devices.add(id="a,b", **{"class": "gpu"}),
            "hello.inventory.devices.id: 'a,b' is not 1 to 253",
        ),
        (
            lambda h: h.inventory.devices.add(id="a", **{"class": "g p"}),
            "hello.inventory.devices.class: 'g p' is not 1 to 63",
        ),
        (lambda h: h.inventory.labels.update({str(n): "" for n in range(65)}), "hello.inventory: at most 64"),
        (lambda h: setattr(h.instances[0], "state", 99), "hello.instance.state: 99 is not a state"),
        (lambda h: setattr(h.instances[0], "state", 0), "hello.instance.state: 0 is not a state"),
        (lambda h: setattr(h.instances[0], "job_uid", ""), "hello.instance.job_uid: required"),
        (lambda h: setattr(h.instances[0], "at", float("nan")), "hello.instance.at: expected a finite number"),
        (lambda h: setattr(h.instances[0], "at", float("inf")), "hello.instance.at: expected a finite number"),
    ],
)
def test_a_hello_that_breaks_the_rules_is_refused_by_field(change: Callable[[wire.Hello], Any], words: str):
    message = a_hello()
    change(message)
    with pytest.raises(Malformed) as refusal:
        hello_of(message, NOW)
    assert str(refusal.value).startswith(words)


def test_a_report_has_a_number_from_one_on():
    with pytest.raises(Malformed, match=r"report\.seq: expected 1 or more"):
        report_of(wire.Report(instance=instance_to_wire(INSTANCE)), "node-a", NOW)


def test_a_log_tail_is_64_kib_at_most():
    message = wire.LogTail(job_uid="u", instance_id="i", bytes=b"x" * 65536)
    assert len(tail_of(message, NOW).text) == 65536
    message.bytes += b"x"
    with pytest.raises(Malformed, match=r"log_tail\.bytes: at most 65536"):
        tail_of(message, NOW)


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (wire.Result(outcome=wire.Result.APPLIED, pid=7), Applied("ref", {"pid": 7})),
        (wire.Result(outcome=wire.Result.REJECTED, code="C", detail="d"), Rejected("d", "C")),
        (wire.Result(outcome=wire.Result.DEFERRED, detail="d", retry_after_seconds=5), Deferred("d", 5.0)),
        (wire.Result(outcome=wire.Result.DEFERRED, detail="d"), Deferred("d", 1.0)),
    ],
)
def test_a_result_is_one_of_three_answers(message: wire.Result, answer: object):
    assert answer_of(message, "ref") == answer


@pytest.mark.req("B105")
@pytest.mark.parametrize("outcome", [0, 99])
def test_an_outcome_that_is_none_is_refused(outcome: Any):
    with pytest.raises(Malformed, match=r"result\.outcome: "):
        answer_of(wire.Result(outcome=outcome), "ref")


def test_a_start_reaches_the_agent_as_it_was_meant():
    document = a_job_spec(
        command=["serve", "${param.port}"],
        workingDir="sub",
        env={"A": "b"},
        parameters={"port": 8101, "share": 0.5, "whole": 2.0, "on": True, "name": "x"},
        readiness={"tcp": 8101, "periodSeconds": 2},
        liveness={"exec": ["true"]},
        stopGraceSeconds=7,
        onDisconnect="stop",
        requirements={
            "requiredCapacity": 0.5,
            "requiredCores": 1,
            "requiredMemoryMiB": 64,
            "requiredHostPorts": ["8101/tcp"],
        },
    )
    spec = JobSpec.model_validate(document)
    command = StartJob("e", "f", "default", "b.primary.web", "u", "i", "primary", 3, spec, {"KEY": "s"})
    message = command_to_wire(command)
    order = from_wire(message.start)
    assert (message.effect_id, message.fingerprint, dict(message.start.secret_env)) == ("e", "f", {"KEY": "s"})
    assert (order.command, order.working_dir, order.env) == (("serve", "${param.port}"), "sub", {"A": "b"})
    assert order.parameters == {"port": "8101", "share": "0.5", "whole": "2", "on": "true", "name": "x"}
    assert (order.readiness, order.liveness) == (Probe(tcp=8101, period_seconds=2), Probe(exec=("true",)))
    assert (order.capacity_milli, order.cores, order.memory_mib, order.ports) == (500, 1, 64, ("8101/tcp",))
    assert (order.stop_grace_seconds, order.on_disconnect, order.attempt) == (7, "stop", 3)


def test_stop_and_forget_name_what_they_are_about():
    stop, now = command_to_wire(StopJob("e", "f", "i")), command_to_wire(StopJob("e", "f", "i", 0.0))
    assert (stop.stop.instance_id, stop.stop.HasField("grace_seconds")) == ("i", False)
    assert (now.stop.HasField("grace_seconds"), now.stop.grace_seconds) == (True, 0.0)
    forget = command_to_wire(ForgetJob("e", "f", "default", "b.primary.web", "u")).forget.folder
    assert (forget.project, forget.job, forget.job_uid) == ("default", "b.primary.web", "u")


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (wire.Driver(id="Docker", version="1"), "hello.inventory.drivers: "),
        (wire.Driver(id="docker", kinds=["image"] * 64), "hello.inventory.drivers: at most 64"),
        (wire.Driver(id="docker", kinds=["a/b"]), "hello.inventory.drivers: "),
    ],
)
def test_a_driver_is_called_by_labels(driver: wire.Driver, words: str):
    hello = a_hello()
    hello.inventory.drivers.append(driver)
    with pytest.raises(Malformed, match=f"^{words}"):
        hello_of(hello, NOW)
