"""What a node can be told to do, as plain values, and how an effect's request spells them.

A StartJob or PrepareJob request holds `job` (BUNDLE.ROLE.JOB), `project`, `jobUid`, `instance`, `instanceKey`,
`attempt` and `spec`, the job's spec as it stands on the wire; a StartPreparedJob request holds `instance`; a StopJob
request holds `instance` and, where it is not the job's own, `graceSeconds`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from resources.canonical import Document
from resources.effect import EffectRecord
from resources.job import JobSpec
from resources.quantities import milli


@dataclass(frozen=True)
class StartJob:
    """`secrets` are the values behind the spec's secretEnv; they are in no record."""

    effect: str
    fingerprint: str
    project: str
    job: str
    job_uid: str
    instance: str
    instance_key: str
    attempt: int
    spec: JobSpec
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    devices: tuple[str, ...] = ()
    """Ids of the devices that it gets, in the order of its asks."""
    gpu_index: int | None = None
    """Which of the node's GPUs the first of them is."""
    prepare: bool = False
    """Admit it, hold its room, and let it begin when StartPrepared says so."""

    @property
    def capacity_milli(self) -> int:
        return milli(self.spec.requirements.required_capacity)

    @property
    def parameters(self) -> dict[str, str]:
        """Texts as they are, numbers and booleans as JSON writes them."""
        return {
            name: value if isinstance(value, str) else json.dumps(_whole(value))
            for name, value in self.spec.parameters.items()
        }


@dataclass(frozen=True)
class StartPrepared:
    """Let an instance begin that was prepared before."""

    effect: str
    fingerprint: str
    instance: str


@dataclass(frozen=True)
class StopJob:
    """`grace_seconds` None: the instance's own."""

    effect: str
    fingerprint: str
    instance: str
    grace_seconds: float | None = None


@dataclass(frozen=True)
class ForgetJob:
    """The job is gone: its folder on the node goes too."""

    effect: str
    fingerprint: str
    project: str
    job: str
    job_uid: str


@dataclass(frozen=True)
class ExecJob:
    """One command beside a living instance. No effect: `effect` only finds the answer."""

    effect: str
    instance: str
    argv: tuple[str, ...]
    timeout_seconds: float
    input: bytes = field(default=b"", repr=False)
    fingerprint: str = ""


Command = StartJob | StartPrepared | StopJob | ForgetJob | ExecJob


def start_request(
    *, project: str, job: str, job_uid: str, instance: str, instance_key: str, attempt: int, spec: JobSpec
) -> Document:
    return {
        "project": project,
        "job": job,
        "jobUid": job_uid,
        "instance": instance,
        "instanceKey": instance_key,
        "attempt": attempt,
        "spec": spec.model_dump(mode="json", by_alias=True, exclude_defaults=True),
    }


def start_of(effect: EffectRecord, secrets: Mapping[str, str], *, prepare: bool = False) -> StartJob:
    """Raises KeyError or ValueError for a request of another shape."""
    request = effect.request
    return StartJob(
        effect=effect.id,
        fingerprint=effect.fingerprint,
        project=request["project"],
        job=request["job"],
        job_uid=request["jobUid"],
        instance=request["instance"],
        instance_key=request["instanceKey"],
        attempt=request["attempt"],
        spec=JobSpec.model_validate(request["spec"]),
        devices=tuple(request.get("devices", ())),
        gpu_index=request.get("gpuIndex"),
        secrets=secrets,
        prepare=prepare,
    )


def begin_of(effect: EffectRecord) -> StartPrepared:
    return StartPrepared(effect.id, effect.fingerprint, effect.request["instance"])


def stop_of(effect: EffectRecord) -> StopJob:
    return StopJob(effect.id, effect.fingerprint, effect.request["instance"], effect.request.get("graceSeconds"))


def _whole(value: float | bool) -> float | bool:
    return int(value) if isinstance(value, float) and value.is_integer() else value
