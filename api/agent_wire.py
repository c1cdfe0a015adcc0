"""What agents and server say to each other, between messages and values; what breaks the rules is refused by name."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from api.proto import agent_pb2 as wire
from api.proto.translate import instance_from_wire, inventory_from_wire
from controllers.providers.agent_commands import Command, ExecJob, ForgetJob, StartJob, StartPrepared, StopJob
from resources.canonical import Document
from resources.effect import Answer, Applied, Deferred, Rejected
from resources.facts import Instance, Inventory, LogTail
from resources.job_entry import Probe
from resources.labels import pair_problem
from resources.names import capability_problem, label_problem

TAIL_BYTES = 64 * 1024
MOST_INSTANCES = 10_000
MOST_LABELS = 64


class Malformed(Exception):
    """A message that no agent of ours would send; the text names the field."""


@dataclass(frozen=True)
class JobFolder:
    """A folder that a node keeps for a job (BUNDLE.ROLE.JOB); `uid` is empty where the node does not know it."""

    project: str
    job: str
    uid: str = ""


@dataclass(frozen=True)
class Hello:
    """`report_seq`: every report up to it is in `instances`, which is the whole truth. `labels` count at the join."""

    node: str
    boot_id: str
    inventory: Inventory
    instances: tuple[Instance, ...] = ()
    credential: str = field(default="", repr=False)
    join_token: str = field(default="", repr=False)
    pool: str = ""
    report_seq: int = 0
    kept: tuple[JobFolder, ...] = ()


def up_of(data: bytes) -> wire.Up:
    """Raises Malformed for bytes that are no message, and for a message that says nothing."""
    try:
        message = wire.Up.FromString(data)
    except DecodeError as error:
        raise Malformed("not a message of rmctl.agent.v1") from error
    if message.WhichOneof("message") is None:
        raise Malformed("message: none of those that this server knows")
    return message


def hello_of(message: wire.Hello, now: float) -> Hello:
    problem = label_problem(message.node)
    if problem:
        raise Malformed(f"hello.node: {problem}")
    if len(message.instances) > MOST_INSTANCES:
        raise Malformed(f"hello.instances: at most {MOST_INSTANCES}")
    if len(message.inventory.labels) > MOST_LABELS or len(message.inventory.capabilities) > MOST_LABELS:
        raise Malformed(f"hello.inventory: at most {MOST_LABELS} labels and as many capabilities")
    pairs = message.inventory.labels.items()
    problem = next((f"{key!r}: {found}" for key, value in pairs if (found := pair_problem(key, value))), None)
    if problem is not None:
        raise Malformed(f"hello.inventory.labels: {problem}")
    capability = next((name for name in message.inventory.capabilities if capability_problem(name)), None)
    if capability is not None:
        raise Malformed(f"hello.inventory.capabilities: {capability_problem(capability)}")
    named = [*(d.id for d in message.inventory.drivers), *(k for d in message.inventory.drivers for k in d.kinds)]
    problem = next((label_problem(name) for name in named if label_problem(name)), None)
    if problem is not None or len(named) > MOST_LABELS:
        raise Malformed(f"hello.inventory.drivers: {problem or f'at most {MOST_LABELS}, their kinds included'}")
    try:
        return Hello(
            node=message.node,
            boot_id=message.boot_id,
            inventory=inventory_from_wire(message.inventory, message.agent_version),
            instances=tuple(instance_from_wire(one, message.node, now=now) for one in message.instances),
            credential=message.credential,
            join_token=message.join_token,
            pool=message.pool,
            report_seq=message.report_seq,
            kept=tuple(JobFolder(one.project, one.job, one.job_uid) for one in message.kept[:MOST_INSTANCES]),
        )
    except ValueError as error:
        raise Malformed(f"hello.{error}") from error


def report_of(message: wire.Report, node: str, now: float) -> tuple[int, Instance]:
    if not 0 < message.seq < 2**63:
        raise Malformed("report.seq: expected 1 or more")
    try:
        return message.seq, instance_from_wire(message.instance, node, now=now)
    except ValueError as error:
        raise Malformed(f"report.{error}") from error


def tail_of(message: wire.LogTail, now: float) -> LogTail:
    if not message.job_uid or not message.instance_id:
        raise Malformed("log_tail: job_uid and instance_id are required")
    if len(message.bytes) > TAIL_BYTES:
        raise Malformed(f"log_tail.bytes: at most {TAIL_BYTES}")
    at = min(message.at, now) if math.isfinite(message.at) else now
    return LogTail(message.job_uid, message.instance_id, message.attempt, message.bytes, message.truncated, at)


def answer_of(message: wire.Result, ref: str) -> Answer:
    """`ref` is what an applied effect is known by."""
    match message.outcome:
        case wire.Result.APPLIED if message.HasField("executed"):
            return Applied(ref, _executed(message.executed))
        case wire.Result.APPLIED:
            return Applied(ref, {"pid": message.pid} if message.pid else {})
        case wire.Result.REJECTED:
            return Rejected(message.detail, message.code)
        case wire.Result.DEFERRED:
            after = message.retry_after_seconds
            return Deferred(message.detail, after if math.isfinite(after) and after > 0 else 1.0)
    raise Malformed(f"result.outcome: {message.outcome} is not an outcome")


def _executed(message: wire.Executed) -> Document:
    return {
        "code": message.code,
        "signal": message.signal,
        "output": message.output,
        "error": message.error,
        "truncated": message.truncated,
        "timedOut": message.timed_out,
    }


def an_end_of(instance: str) -> StopJob:
    """For an instance that must not live on and that no job stops any more. Asking twice is fine."""
    return StopJob(f"stray:{instance}", "stray", instance)


def command_to_wire(command: Command) -> wire.Command:
    message = wire.Command(effect_id=command.effect, fingerprint=command.fingerprint)
    match command:
        case StartJob():
            message.start.CopyFrom(_start(command))
        case StartPrepared(instance=instance):
            message.start_prepared.instance_id = instance
        case StopJob(instance=instance, grace_seconds=grace):
            message.stop.instance_id = instance
            if grace is not None:
                message.stop.grace_seconds = grace
        case ForgetJob(project=project, job=job, job_uid=uid):
            message.forget.folder.CopyFrom(wire.JobFolder(project=project, job=job, job_uid=uid))
        case ExecJob():
            message.exec.instance_id = command.instance
            message.exec.argv.extend(command.argv)
            message.exec.timeout_seconds = command.timeout_seconds
            message.exec.input = command.input
    return message


def _start(command: StartJob) -> wire.Start:
    spec = command.spec
    asks = spec.requirements
    return wire.Start(
        project=command.project,
        job=command.job,
        job_uid=command.job_uid,
        instance_id=command.instance,
        instance_key=command.instance_key,
        attempt=command.attempt,
        command=spec.command or (),
        image=spec.image or "",
        working_dir=spec.working_dir,
        env=spec.env,
        secret_env=dict(command.secrets),
        parameters=command.parameters,
        capacity_milli=command.capacity_milli,
        cores=asks.required_cores,
        memory_mib=asks.required_memory_mib,
        ports=asks.required_host_ports,
        readiness=None if spec.readiness is None else _probe(spec.readiness),
        liveness=None if spec.liveness is None else _probe(spec.liveness),
        stop_grace_seconds=spec.stop_grace_seconds,
        on_disconnect=spec.on_disconnect,
        run_as=spec.run_as or "",
        gpu_index=command.gpu_index,
        devices=command.devices,
        defer_start=command.prepare,
    )


def _probe(probe: Probe) -> wire.Probe:
    message = wire.Probe(
        period_seconds=probe.period_seconds, grace_seconds=probe.grace_seconds, failures=probe.failures
    )
    if probe.exec is not None:
        message.exec.argv.extend(probe.exec)
    elif probe.tcp is not None:
        message.tcp = probe.tcp
    else:
        message.http = probe.http or ""
    return message
