"""A job entry: what one job of a bundle runs, asks for, and does when it ends."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from resources.device_asks import DeviceAsk
from resources.frozen import Bool, Count, Frozen, Int, Number, Text
from resources.names import MAX_LABEL, capability_problem, label_problem
from resources.quantities import milli
from resources.schedules import Cron, TimeZone

PORT = re.compile(r"([0-9]{1,5})/(tcp|udp|sctp)", re.ASCII)
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
RESERVED_ENV = ("RM_", "NORSK_")
MAX_COMMAND_BYTES = 128 * 1024
MAX_MEMORY_MIB = 1024**3
WHOLE_GPU = "norsk.io/nvidia-gpu"
"""The capability that stands for a GPU of one's own."""
PAGE = re.compile(
    r"/.*|http://(localhost|127(\.[0-9]{1,3}){3}|\$\{node\.address\})(:([0-9]{1,5}|\$\{[^}]+\}))?(/.*)?", re.ASCII
)
"""What a probe may ask for: a page of its own node, and nothing that a node can reach beyond."""


def _no_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a null character")
    return value


def _label(value: str) -> str:
    problem = label_problem(value)
    if problem:
        raise ValueError(problem)
    return value


def _capability(value: str) -> str:
    problem = None if value == WHOLE_GPU else capability_problem(value)
    if problem:
        raise ValueError(problem)
    return value


def _port(value: str) -> str:
    match = PORT.fullmatch(value)
    if match is None or not 1 <= int(match[1]) <= 65535:
        raise ValueError(f'"{value}" is not PORT/tcp, PORT/udp or PORT/sctp with a port of 1 to 65535')
    return f"{int(match[1])}/{match[2]}"


def _thousandths(value: float) -> float:
    milli(value)
    return value


def _command(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not value[0]:
        raise ValueError("expected a non-empty list of texts")
    if sum(len(part.encode()) + 1 for part in value) > MAX_COMMAND_BYTES:
        raise ValueError(f"at most {MAX_COMMAND_BYTES} bytes")
    return value


def _environment(value: dict[str, Any]) -> dict[str, Any]:
    for name in value:
        if not ENV_NAME.fullmatch(name):
            raise ValueError(f'"{name}": must match {ENV_NAME.pattern}')
        if name.startswith(RESERVED_ENV):
            raise ValueError(f'"{name}": names that start with RM_ or NORSK_ are reserved')
    if sum(len(name) + len(str(text).encode()) + 2 for name, text in value.items()) > MAX_COMMAND_BYTES:
        raise ValueError(f"at most {MAX_COMMAND_BYTES} bytes")
    return value


def _inside(value: str) -> str:
    parts = value.split("/")
    if value.startswith(("/", "~")) or ".." in parts or "\0" in value:
        raise ValueError("must stay inside the job directory")
    return value


def _distinct(value: tuple[str, ...]) -> tuple[str, ...]:
    twice = next((item for item in value if value.count(item) > 1), None)
    if twice is not None:
        raise ValueError(f'"{twice}" is named twice')
    return value


PlainText = Annotated[Text, AfterValidator(_no_nul)]
JobName = Annotated[Text, AfterValidator(_label), Field(max_length=MAX_LABEL)]
Command = Annotated[tuple[PlainText, ...], AfterValidator(_command)]
Environment = Annotated[dict[Text, PlainText], AfterValidator(_environment)]
Port = Annotated[Text, AfterValidator(_port)]
Ports = Annotated[tuple[Port, ...], AfterValidator(_distinct)]
Names = Annotated[tuple[Text, ...], AfterValidator(_distinct)]
Capabilities = Annotated[tuple[Annotated[Text, AfterValidator(_capability)], ...], AfterValidator(_distinct)]
Cores = Annotated[Count, Field(le=100_000)]
Memory = Annotated[Count, Field(le=MAX_MEMORY_MIB)]
Vcpu = Annotated[Number, Field(gt=0, le=100_000), AfterValidator(_thousandths)]
GpuPart = Annotated[Number, Field(gt=0, le=1), AfterValidator(_thousandths)]
"""Of one device."""
Parameter = PlainText | Bool | Int | Number
WorkingDir = Annotated[Text, AfterValidator(_inside)]
OnFailure = Literal["preferSpare", "avoidSpare", "drop"]


class SecretKey(Frozen):
    secret: Text
    key: Text


class Probe(Frozen):
    """One of `exec`, `tcp`, `http`; seconds for the periods, `failures` misses in a row count as one."""

    exec: Command | None = None
    tcp: Annotated[Int, Field(ge=1, le=65535)] | None = None
    http: Text | None = None
    period_seconds: Annotated[Number, Field(gt=0, le=3600)] = 5
    grace_seconds: Annotated[Number, Field(gt=0, le=86400)] = 60
    failures: Annotated[Int, Field(ge=1, le=1000)] = 3

    @model_validator(mode="after")
    def _one(self) -> Probe:
        if sum(way is not None for way in (self.exec, self.tcp, self.http)) != 1:
            raise ValueError("exactly one of exec, tcp, http")
        if self.http is not None and not PAGE.fullmatch(self.http):
            raise ValueError("http: scheme or host not allowed: a path, or http:// with localhost or ${node.address}")
        return self


class Schedule(Frozen):
    cron: Cron
    time_zone: TimeZone = "UTC"


class Requirements(Frozen):
    """What a job asks of a node, and what its failure means. Capacity in vCPU."""

    required_capacity: Vcpu
    required_cores: Cores = 0
    required_memory_mib: Annotated[Memory, Field(alias="requiredMemoryMiB")] = 0
    required_capabilities: Capabilities = ()
    required_host_ports: Ports = ()
    required_gpu_capacity: GpuPart | None = None
    required_gpu_model: Annotated[Text, Field(min_length=1)] | None = None
    devices: Annotated[tuple[DeviceAsk, ...], Field(max_length=6)] = ()
    on_runtime_failure: OnFailure
    essential: Bool = True
    max_restarts_per_hour: Annotated[Int, Field(ge=0, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _of_a_gpu(self) -> Requirements:
        asks = self.required_gpu_capacity is not None or WHOLE_GPU in self.required_capabilities
        if self.required_gpu_model is not None and not asks:
            raise ValueError(f"requiredGpuModel: goes with requiredGpuCapacity, or with the capability {WHOLE_GPU}")
        return self


class PartialRequirements(Frozen):
    """Requirements as a template may give them: any of them, none required."""

    required_capacity: Vcpu | None = None
    required_cores: Cores | None = None
    required_memory_mib: Annotated[Memory | None, Field(alias="requiredMemoryMiB")] = None
    required_capabilities: Capabilities | None = None
    required_host_ports: Ports | None = None
    required_gpu_capacity: GpuPart | None = None
    required_gpu_model: Annotated[Text, Field(min_length=1)] | None = None
    devices: Annotated[tuple[DeviceAsk, ...], Field(max_length=6)] | None = None
    on_runtime_failure: OnFailure | None = None
    essential: Bool | None = None
    max_restarts_per_hour: Annotated[Int, Field(ge=0, le=1_000_000)] | None = None


class Work(Frozen):
    """The fields of a job entry that a template may give as defaults."""

    command: Command | None = None
    image: Text | None = None
    working_dir: WorkingDir = "."
    env: Environment = Field(default_factory=dict)
    secret_env: Annotated[dict[Text, SecretKey], AfterValidator(_environment)] = Field(default_factory=dict)
    parameters: dict[Text, Parameter] = Field(default_factory=dict)
    backup_parameter_overrides: dict[Text, Parameter] = Field(default_factory=dict)
    start_mode: Literal["auto", "manual"] = "auto"
    restart_on: Literal["failure", "always"] = "failure"
    readiness: Probe | None = None
    liveness: Probe | None = None
    stop_grace_seconds: Annotated[Number, Field(ge=0, le=86400)] = 30
    run_as: Text | None = None
    migration_strategy: Literal["stopThenStart", "overlap", "handover"] = "stopThenStart"
    on_disconnect: Literal["replace", "stop", "hold"] = "replace"

    @model_validator(mode="after")
    def _parameters(self) -> Work:
        spelled: dict[str, str] = {}
        for name in self.parameters:
            upper = re.sub(r"[^A-Za-z0-9]", "_", name).upper()
            if upper in spelled:
                raise ValueError(f'parameters: "{spelled[upper]}" and "{name}" are both RM_PARAM_{upper}')
            spelled[upper] = name
        return self


class JobEntry(Work):
    """One job of a bundle as an operator writes it. `template` defaults to the job's own name."""

    job_name: JobName
    template: Text | None = None
    co_locate_with: Names = ()
    separate_from: Names = ()
    exclusive: Bool = False
    single_use: Bool = False
    start_date_time: Text | None = None
    schedule: Schedule | None = None
    requirements: PartialRequirements = PartialRequirements()

    @model_validator(mode="after")
    def _rules(self) -> JobEntry:
        if self.single_use and not self.exclusive:
            raise ValueError("singleUse: needs exclusive: true")
        if self.job_name in self.co_locate_with:
            raise ValueError(f"coLocateWith: {self.job_name} → {self.job_name}")
        if self.job_name in self.separate_from:
            raise ValueError(f"separateFrom: {self.job_name} → {self.job_name}")
        both = set(self.co_locate_with) & set(self.separate_from)
        if both:
            raise ValueError(f'coLocateWith: "{min(both)}" is in separateFrom too')
        return self
