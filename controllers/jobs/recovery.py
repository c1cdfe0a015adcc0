"""What follows when an instance ends that nobody asked to end: completed, started again after a while, or given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controllers.jobs import sentences
from resources.effect import CANCELLED, INVALID_SPEC, EffectRecord
from resources.event import Event
from resources.facts import Instance
from resources.job import Job, JobSpec, JobStatus, LastExit
from resources.pool import Pool

SPACING_SECONDS = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Between an end and the next start, while a job keeps failing; the last one repeats."""
STEADY_SECONDS = 600.0
"""Who ran this long starts over at the shortest spacing."""
HOUR = 3600.0
DEFAULT_CEILING = 6


@dataclass(frozen=True)
class Aftermath:
    """How the job stands once the instance is over, and what there is to tell."""

    status: JobStatus
    events: tuple[Event, ...] = ()
    refused_by: str | None = None
    """The node that would not start it, and that may want to be looked at."""


def changed(status: JobStatus, **fields: Any) -> JobStatus:
    return status.model_copy(update=fields)


def without_instance(status: JobStatus) -> JobStatus:
    """Where and as what it ran is no longer so."""
    return changed(
        status,
        node=None,
        tier=None,
        zone=None,
        address=None,
        instance_key=None,
        instance_id=None,
        pid=None,
        started_at=None,
        ready_at=None,
        ports=(),
        devices=(),
        reservation=None,
        gpu_index=None,
    )


def ceiling(spec: JobSpec, pool: Pool | None) -> int | None:
    """Restarts allowed within an hour: the job's own number, its policy's, the pool's, 6. None: never restarted."""
    requirements = spec.requirements
    if requirements.on_runtime_failure == "drop":
        return None
    policies = None if pool is None else pool.spec.failure_policies
    prefers = requirements.on_runtime_failure == "preferSpare"
    policy = None if policies is None else policies.prefer_spare if prefers else policies.avoid_spare
    flat = DEFAULT_CEILING if pool is None else pool.spec.max_restarts_per_hour
    candidates = (requirements.max_restarts_per_hour, None if policy is None else policy.max_restarts_per_hour)
    return next((number for number in candidates if number is not None), flat)


def recent(status: JobStatus, now: float) -> tuple[float, ...]:
    return tuple(at for at in status.restarts.at if now - at <= HOUR)


def last_exit(row: Instance) -> LastExit:
    return LastExit(
        at=row.at,
        code=row.code,
        signal=row.signal,
        ran_seconds=row.ran_seconds,
        node=row.node,
        instance_key=row.key,
        attempt=row.attempt,
        reason=row.reason,
    )


def exited(job: Job, status: JobStatus, row: Instance, pool: Pool | None, now: float) -> Aftermath:
    """The instance ended by itself."""
    status = changed(without_instance(status), last_exit=last_exit(row), ever_ran=True)
    if row.code == 0 and job.spec.restart_on == "failure":
        done = changed(status, phase="completed", consecutive_failures=0, next_start_at=None)
        return Aftermath(done, (Event("JobUpdated", "completed: exit 0"),))
    failures = 1 + (0 if row.ran_seconds >= STEADY_SECONDS else status.consecutive_failures)
    how = sentences.how_it_ended(row)
    event = Event("JobUpdated", how, "Warning", {"node": row.node, "attempt": row.attempt})
    after = _failed(job, changed(status, consecutive_failures=failures), pool, now, how)
    first = after.status.phase == "backoff" and failures == 1
    left_out = changed(
        after.status,
        excluded_node=row.node if first else None,
        excluded_reason=sentences.RECOVERING if first else None,
    )
    return Aftermath(left_out, (event, *after.events))


def vanished(job: Job, status: JobStatus, node: str, pool: Pool | None, now: float) -> Aftermath:
    """It was started, but its agent does not know it: a failure like another, of which no exit is known."""
    failures = status.consecutive_failures + 1
    how = f"{node} does not know the instance that it started"
    after = _failed(job, changed(without_instance(status), consecutive_failures=failures), pool, now, how)
    return Aftermath(after.status, (Event("JobUpdated", how, "Warning", {"node": node}), *after.events))


def lost(job: Job, status: JobStatus, node: str, pool: Pool | None, now: float) -> Aftermath:
    """Its node is lost. It counts as a restart, and waits only if the job failed or was lost just before."""
    how = f"lost with {node}"
    ran = 0.0 if status.started_at is None else max(now - status.started_at, 0.0)
    end = LastExit(at=now, ran_seconds=ran, node=node, instance_key=job.spec.role, attempt=status.attempt, reason=how)
    after = _failed(job, changed(without_instance(status), last_exit=end), pool, now, how, node_died=True)
    return Aftermath(after.status, (Event("JobUpdated", how, "Warning", {"node": node}), *after.events))


def refused(job: Job, status: JobStatus, record: EffectRecord, now: float) -> Aftermath:
    """The agent would not start it: final if the order itself is wrong, else tried elsewhere; no restart counted."""
    if record.code == CANCELLED:
        return Aftermath(changed(without_instance(status), attempt=status.attempt + 1))
    words = record.error or record.code or "no reason given"
    event = Event(
        "JobRejected",
        f"{record.target}: {record.code}: {words}" if record.code else f"{record.target}: {words}",
        "Warning",
        {"node": record.target, "code": record.code or ""},
    )
    status = changed(without_instance(status), attempt=status.attempt + 1)
    if record.code == INVALID_SPEC:
        after = _given_up(job, status, f"InvalidSpec: {words}")
        return Aftermath(after.status, (event, *after.events), record.target)
    again = changed(
        status,
        next_start_at=now + SPACING_SECONDS[0],
        excluded_node=record.target,
        excluded_reason=f"{sentences.REFUSED}{words}",
    )
    return Aftermath(again, (event,), record.target)


def _failed(
    job: Job, status: JobStatus, pool: Pool | None, now: float, how: str, *, node_died: bool = False
) -> Aftermath:
    """Give up this attempt; decide whether there is a next."""
    requirements = job.spec.requirements
    status = changed(status, attempt=status.attempt + 1, phase="pending")
    if requirements.on_runtime_failure == "drop" and job.spec.active:
        return _given_up(job, status, f"Dropped: {how}; onRuntimeFailure is drop")
    counts = status.restarts
    field = "lost" if node_died else "failed"
    status = changed(status, restarts=counts.model_copy(update={field: getattr(counts, field) + 1}))
    if not job.spec.active or job.spec.placing_stopped:
        return Aftermath(changed(status, next_start_at=None))
    allowed = ceiling(job.spec, pool) or 0
    made = recent(status, now)
    if len(made) >= allowed:
        return _given_up(job, status, sentences.past_ceiling(how, allowed, made))
    spacing = SPACING_SECONDS[min(max(status.consecutive_failures, 1), len(SPACING_SECONDS)) - 1]
    due = now + spacing
    if node_died and not status.consecutive_failures:
        due = max([now, *(at + spacing for at in made)])
    return Aftermath(changed(status, phase="backoff", owes_restart=True, next_start_at=due))


def _given_up(job: Job, status: JobStatus, terminal: str) -> Aftermath:
    """Past its ceiling an essential job ends its bundle; everything else is a drop of this job."""
    given_up = changed(
        status, phase="dropped", terminal=terminal, next_start_at=None, owes_restart=False, excluded_node=None
    )
    ceiling_of_all = terminal.startswith("RestartCeiling") and job.spec.requirements.essential
    events = () if ceiling_of_all else (Event("JobDropped", sentences.words_of(terminal), "Warning"),)
    return Aftermath(given_up, events)
