"""What is asked of a node's agent, as plain values: start this instance, stop that one."""

from __future__ import annotations

from controllers.jobs import ids
from resources.canonical import Document
from resources.effect import Effect
from resources.job import Job

PROVIDER = "agents"
PLACING = {
    "active",
    "restarted_at",
    "start_date_time",
    "on_launch",
    "override_reservation",
    "priority",
    "forbid",
    "same_az",
    "co_locate_with",
    "separate_from",
    "exclusive",
    "single_use",
    "images",
    "placing_stopped",
    "history_generation",
}
"""Fields of a job's spec that an agent has no use for."""


def start(
    job: Job, instance: ids.InstanceId, node: str, devices: tuple[str, ...] = (), gpu_index: int | None = None
) -> Effect:
    """The whole order for one instance. Of secrets it holds names and keys only."""
    order = _order(job, instance)
    if devices:
        order |= {"devices": list(devices)}
    if gpu_index is not None:
        order |= {"gpuIndex": gpu_index}
    return Effect("StartJob", instance.start_key, PROVIDER, order, target=node)


def stop(job: Job, instance: ids.InstanceId, node: str, *, again: int = 0) -> Effect:
    """`again` counts the stops of this instance that were refused before."""
    key = f"{instance.stop_key}/{again + 1}" if again else instance.stop_key
    request: Document = {"project": job.project, "job": job.name, "jobUid": job.uid, "instance": str(instance)}
    return Effect("StopJob", key, PROVIDER, request, target=node)


def _order(job: Job, instance: ids.InstanceId) -> Document:
    """The job's spec less what matters to its placing alone, so that nothing else makes it another request."""
    return {
        "project": job.project,
        "job": job.name,
        "jobUid": job.uid,
        "instance": str(instance),
        "instanceKey": job.spec.role,
        "attempt": instance.attempt,
        "spec": job.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=PLACING),
    }
