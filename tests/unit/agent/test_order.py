"""Orders as they come over the wire: checked once more on the node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.errors import InvalidSpec
from agent.order import Probe, from_document, from_wire
from api.proto import agent_pb2 as wire


def a_start() -> wire.Start:
    return wire.Start(
        job="ch-1.primary.encode",
        job_uid="u1",
        instance_id="u1-1-1",
        instance_key="primary",
        attempt=1,
        command=["true"],
        ports=["8101/tcp"],
        stop_grace_seconds=30,
        readiness=wire.Probe(tcp=8101),
        env={"A": "b"},
    )


def test_what_the_probe_leaves_open_has_the_manifests_defaults():
    assert from_wire(a_start()).readiness == Probe(tcp=8101, period_seconds=5, grace_seconds=60, failures=3)


def test_an_order_written_down_reads_as_the_same_order():
    order = from_wire(a_start())
    assert from_document(order.to_document()) == order


@pytest.mark.parametrize(("project", "folder"), [("default", "ch-1.primary.encode"), ("tv", "tv.ch-1.primary.encode")])
def test_the_jobs_of_two_projects_have_two_folders(project: str, folder: str):
    start = a_start()
    start.project = project
    assert from_wire(start).folder_name == folder


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.ClearField("command"), "command: expected a non-empty list of texts"),
        (lambda s: s.command.__setitem__(0, ""), "command: expected a non-empty list of texts"),
        (lambda s: s.command.append("a\0b"), "command: must not contain a null character"),
        (lambda s: setattr(s, "job", "../x"), "job: '../x' is not BUNDLE.ROLE.JOB"),
        (lambda s: setattr(s, "project", "../x"), "project: must match"),
        (lambda s: setattr(s, "instance_id", "../x"), "instance id: "),
        (lambda s: setattr(s, "instance_id", ".."), "instance id: "),
        (lambda s: s.ports.append("0/tcp"), 'ports: "0/tcp" is not PORT/tcp'),
        (lambda s: s.ports.append("65536/tcp"), 'ports: "65536/tcp" is not PORT/tcp'),
        (lambda s: s.ports.append("80"), 'ports: "80" is not PORT/tcp'),
        (lambda s: setattr(s, "memory_mib", -1), "amounts and the attempt cannot be negative"),
        (lambda s: setattr(s, "stop_grace_seconds", float("nan")), "stopGraceSeconds: expected seconds"),
        (lambda s: setattr(s, "on_disconnect", "pray"), 'onDisconnect: "pray" is not one of replace, stop, hold'),
        (lambda s: setattr(s, "run_as", "root"), "runAs: this node runs jobs as its own user only"),
        (lambda s: s.liveness.SetInParent(), "probe: expected one of exec, tcp (a port), http"),
        (lambda s: setattr(s.readiness, "tcp", 70000), "probe: expected one of exec, tcp (a port), http"),
        (lambda s: setattr(s.readiness, "http", "file:///etc/passwd"), "probe: expected one of exec, tcp"),
        (lambda s: setattr(s.readiness, "period_seconds", -1), "probe: periodSeconds"),
    ],
)
def test_what_no_node_may_run_is_refused_by_name(change: Callable[[wire.Start], None], words: str):
    start = a_start()
    change(start)
    with pytest.raises(InvalidSpec) as refusal:
        from_wire(start)
    assert str(refusal.value).startswith(words)
