"""What is asked of a node's agent, as plain values: start this instance, stop that one."""

from __future__ import annotations

from controllers.jobs import ids
from resources.canonical import Document, canonical
from resources.effect import Effect
from resources.job import Job
from resources.job_entry import Probe
from resources.pool import Pool
from resources.quantities import milli

PROVIDER = "agents"


def start(job: Job, instance: ids.InstanceId, node: str, pool: Pool | None) -> Effect:
    """The whole order for one instance. Of secrets it holds names and keys only."""
    return Effect("StartJob", instance.start_key, PROVIDER, _order(job, instance, pool), target=node)


def stop(job: Job, instance: ids.InstanceId, node: str, *, again: int = 0) -> Effect:
    """`again` counts the stops of this instance that were refused before."""
    key = f"{instance.stop_key}/{again + 1}" if again else instance.stop_key
    request: Document = {"project": job.project, "job": job.name, "jobUid": job.uid, "instance": str(instance)}
    return Effect("StopJob", key, PROVIDER, request, target=node)


def _order(job: Job, instance: ids.InstanceId, pool: Pool | None) -> Document:
    spec, asked = job.spec, job.spec.requirements
    return {
        "project": job.project,
        "job": job.name,
        "jobUid": job.uid,
        "instance": str(instance),
        "instanceKey": spec.role,
        "role": spec.role,
        "attempt": instance.attempt,
        "command": list(spec.command or ()),
        "image": spec.image or "",
        "workingDir": spec.working_dir,
        "env": dict(spec.env),
        "secretEnv": {name: {"secret": at.secret, "key": at.key} for name, at in spec.secret_env.items()},
        "parameters": {name: _text(value) for name, value in spec.parameters.items()},
        "capacityMilli": milli(asked.required_capacity),
        "cores": asked.required_cores,
        "memoryMib": asked.required_memory_mib,
        "ports": list(asked.required_host_ports),
        "readiness": _probe(spec.readiness),
        "liveness": _probe(spec.liveness),
        "stopGraceSeconds": spec.stop_grace_seconds,
        "onDisconnect": spec.on_disconnect,
        "lostSeconds": 60 if pool is None else pool.spec.disconnect.lost_seconds,
        "runAs": spec.run_as or "",
    }


def _text(value: str | bool | float) -> str:
    """As a job reads it in its environment: text as it is, the rest as JSON writes it."""
    return value if isinstance(value, str) else canonical(value)


def _probe(probe: Probe | None) -> Document | None:
    return None if probe is None else probe.model_dump(mode="json", by_alias=True, exclude_none=True)
