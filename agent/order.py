"""What is to be started, as the server ordered it; checked once more, since a node trusts nobody with its files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from agent.errors import InvalidSpec
from api.proto import agent_pb2 as wire
from resources.canonical import Document
from resources.names import JobKey, job_key, label_problem

PORT = re.compile(r"([0-9]{1,5})/(tcp|udp|sctp)", re.ASCII)
SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}", re.ASCII)
ON_DISCONNECT = ("replace", "stop", "hold")


@dataclass(frozen=True)
class Probe:
    """One of `exec`, `tcp`, `http`; seconds for the periods."""

    exec: tuple[str, ...] = ()
    tcp: int = 0
    http: str = ""
    period_seconds: float = 5
    grace_seconds: float = 60
    failures: int = 3


@dataclass(frozen=True)
class Order:
    """One start. Capacity in thousandths of a vCPU, memory in MiB. Secrets are never part of it."""

    job: str
    job_uid: str
    instance: str
    instance_key: str
    attempt: int
    command: tuple[str, ...]
    project: str = "default"
    image: str = ""
    working_dir: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    capacity_milli: int = 0
    cores: int = 0
    memory_mib: int = 0
    ports: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    gpu_index: int | None = None
    readiness: Probe | None = None
    liveness: Probe | None = None
    stop_grace_seconds: float = 30
    on_disconnect: str = "replace"

    @property
    def key(self) -> JobKey:
        key = job_key(self.job)
        if key is None:
            raise InvalidSpec(f"job: {self.job!r} is not BUNDLE.ROLE.JOB")
        return key

    @property
    def folder_name(self) -> str:
        return folder_name(self.project, self.job)

    def to_document(self) -> Document:
        return asdict(self)


def folder_name(project: str, job: str) -> str:
    """Labels hold no dot, so a project in front cannot meet another job's folder."""
    return job if project == "default" else f"{project}.{job}"


def job_of(folder: str) -> tuple[str, str]:
    """Project and job behind the name of a job's folder."""
    parts = folder.split(".")
    return ("default", folder) if len(parts) == 3 else (parts[0], ".".join(parts[1:]))


def from_document(document: Document) -> Order:
    probes = {name: _stored_probe(document[name]) for name in ("readiness", "liveness")}
    lists = {name: tuple(document.get(name, ())) for name in ("command", "ports", "devices")}
    return Order(**(document | probes | lists))


def _stored_probe(document: Document | None) -> Probe | None:
    return None if document is None else Probe(**(document | {"exec": tuple(document["exec"])}))


def from_wire(start: wire.Start) -> Order:
    """Raises InvalidSpec, naming the field."""
    order = Order(
        project=start.project or "default",
        job=start.job,
        job_uid=start.job_uid,
        instance=start.instance_id,
        instance_key=start.instance_key,
        attempt=start.attempt,
        command=tuple(start.command),
        image=start.image,
        working_dir=start.working_dir or ".",
        env=dict(start.env),
        parameters=dict(start.parameters),
        capacity_milli=start.capacity_milli,
        cores=start.cores,
        memory_mib=start.memory_mib,
        ports=tuple(start.ports),
        devices=tuple(start.devices),
        gpu_index=start.gpu_index if start.HasField("gpu_index") else None,
        readiness=_probe(start.readiness) if start.HasField("readiness") else None,
        liveness=_probe(start.liveness) if start.HasField("liveness") else None,
        stop_grace_seconds=start.stop_grace_seconds,
        on_disconnect=start.on_disconnect or "replace",
    )
    _check(order)
    if start.run_as:
        raise InvalidSpec("runAs: this node runs jobs as its own user only")
    return order


def _check(order: Order) -> None:
    if not SAFE_ID.fullmatch(order.instance):
        raise InvalidSpec("instance id: letters, digits, `.`, `_`, `@` and `-` only, at most 128")
    if label_problem(order.project):
        raise InvalidSpec(f"project: {label_problem(order.project)}")
    assert order.key  # raises for a name that is no job's
    if not order.image and not (order.command and order.command[0]):
        raise InvalidSpec("command: expected a non-empty list of texts")
    if any("\0" in part for part in order.command):
        raise InvalidSpec("command: must not contain a null character")
    for port in order.ports:
        match = PORT.fullmatch(port)
        if match is None or not 1 <= int(match[1]) <= 65535:
            raise InvalidSpec(f'ports: "{port}" is not PORT/tcp, PORT/udp or PORT/sctp')
    if any("\0" in device or "," in device for device in order.devices):
        raise InvalidSpec("devices: an id holds neither a comma nor a null character")
    if min(order.capacity_milli, order.cores, order.memory_mib, order.attempt) < 0:
        raise InvalidSpec("amounts and the attempt cannot be negative")
    if not _seconds(order.stop_grace_seconds):
        raise InvalidSpec("stopGraceSeconds: expected seconds, 0 or more")
    if order.on_disconnect not in ON_DISCONNECT:
        raise InvalidSpec(f'onDisconnect: "{order.on_disconnect}" is not one of {", ".join(ON_DISCONNECT)}')


def _seconds(value: float) -> bool:
    return math.isfinite(value) and 0 <= value <= 86400


def _probe(message: wire.Probe) -> Probe:
    probe = Probe(
        period_seconds=message.period_seconds or Probe.period_seconds,
        grace_seconds=message.grace_seconds or Probe.grace_seconds,
        failures=message.failures or Probe.failures,
    )
    if not (_seconds(probe.period_seconds) and _seconds(probe.grace_seconds) and probe.failures > 0):
        raise InvalidSpec("probe: periodSeconds, graceSeconds and failures must be above 0")
    match message.WhichOneof("check"):
        case "exec" if message.exec.argv and message.exec.argv[0]:
            return replace(probe, exec=tuple(message.exec.argv))
        case "tcp" if 1 <= message.tcp <= 65535:
            return replace(probe, tcp=message.tcp)
        case "http" if message.http.startswith(("http://", "/")):
            return replace(probe, http=message.http)
    raise InvalidSpec("probe: expected one of exec, tcp (a port), http (an http:// address or a path)")
