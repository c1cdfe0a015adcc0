"""The verdict on a bundle: counts, whether it is broken, and its conditions in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from controllers.bundles.rollout import Course
from controllers.bundles.view import is_ready, ready_of, serving
from resources import conditions
from resources.bundle import Broken, Bundle, JobCounts
from resources.conditions import Condition, condition
from resources.job import Job
from resources.names import JobKey

STALLED = {"RestartCeiling": "RestartCeiling", "InvalidSpec": "InvalidSpec", "Dropped": "JobDropped"}
"""A job's terminal reason as the bundle tells it."""
WORST = ("CrashLooping", "NoFit", "Recovering", "NodeSilent", "Paused")
"""Reasons of jobs that name the bundle's, the gravest first."""
WAY_OUT = "rmctl node lost"
AS = {"NotReady": "Recovering", "Provisioning": "NoFit", "Broken": "Recovering"}


def counts(jobs: Sequence[Job], missing: int = 0) -> JobCounts:
    """`missing` jobs are still to be made."""
    phases = [job.status.phase for job in jobs]
    reasons = [found.reason if (found := ready_of(job)) is not None else "" for job in jobs]
    return JobCounts(
        total=len(jobs) + missing,
        running=sum(job.status.phase == "running" and is_ready(job) for job in jobs),
        waiting=phases.count("pending"),
        dormant=phases.count("dormant"),
        dropped=phases.count("dropped"),
        completed=phases.count("completed"),
        moving=reasons.count("Moving"),
    )


def broken(bundle: Bundle, jobs: Sequence[Job], now: float) -> Broken | None:
    """An essential job that will not go on breaks the bundle, unless the bundle has changed since."""
    ended = [job for job in jobs if job.spec.requirements.essential and gave_up(bundle, job)]
    if not ended:
        return None
    before = bundle.status.broken
    names = [people(job) for job in ended]
    if before is not None and before.job in names:
        ended = [job for job in ended if people(job) == before.job]
    job = ended[0]
    reason, _, words = (job.status.terminal or "").partition(": ")
    said = f"{reason}: {words}" if words else reason
    since = before.since if before is not None and (before.job, before.reason) == (people(job), said) else now
    return Broken(since=since, reason=said, job=people(job))


def gave_up(bundle: Bundle, job: Job) -> bool:
    """Whether the job's terminal verdict was given under the bundle's present generation; a changed bundle forgives."""
    current = job.status.history_generation >= bundle.generation
    return job.status.terminal is not None and current and not job.deleting


def people(job: Job) -> str:
    return JobKey(job.spec.bundle, job.spec.role, job.spec.job_name).people


def ready(
    bundle: Bundle, jobs: Sequence[Job], counted: JobCounts, mark: Broken | None, course: Course, problem: str
) -> Condition:
    told = _told(counted)
    if mark is not None:
        return condition("Ready", False, "Broken", f"is broken by {mark.job}: {mark.reason.partition(': ')[2]}")
    if problem:
        reason = "RollingOut" if jobs else "Starting"
        return condition("Ready", False, reason, f"cannot be worked out: {problem}")
    dropped = [people(job) for job in jobs if gave_up(bundle, job)]
    if dropped:
        return condition("Ready", False, "JobDropped", f"{told}; given up: {', '.join(dropped)}")
    reasons = [_reason(job) for job in jobs]
    for worst in WORST:
        if worst in reasons:
            brink = "; one more exit breaks it" if worst == "CrashLooping" and any(map(_brink, jobs)) else ""
            held = f"; the primary keeps what it runs until the backup is ready: {course.waits}" if course.waits else ""
            return condition("Ready", None if worst == "NodeSilent" else False, worst, told + brink + held)
    if course.failed or (course.rolling and course.rollout.updated < course.rollout.total):
        done = f"{course.rollout.updated} of {course.rollout.total} jobs run the new spec"
        return condition("Ready", False, "RollingOut", course.failed or done)
    if counted.total != len(jobs) or not all(map(is_ready, jobs)):
        return condition("Ready", False, "Starting", told)
    if counted.dormant == counted.total:
        return condition("Ready", True, "Dormant", f"is dormant: rmctl start {people(jobs[0])}")
    if counted.completed == counted.total:
        return condition("Ready", True, "Completed", "all jobs completed" if counted.total > 1 else "its job completed")
    return condition("Ready", True, "AllRunning", told + _restarts(jobs) + _zones(jobs))


def way_out(jobs: Sequence[Job]) -> str:
    """What a person can do about a job that waits for a node which does not answer; empty where none does."""
    for job in jobs:
        found = conditions.find(job.status.conditions, "Ready")
        if job.deleting and found is not None and WAY_OUT in found.message:
            return f"; {people(job)} {found.message.partition(': ')[2]}"
    return ""


def available(jobs: Sequence[Job]) -> Condition | None:
    """Whether one whole copy runs; None where nothing is meant to. Jobs that are not essential do not count."""
    copies = {role: [job for job in jobs if job.spec.role == role and _counts(job)] for role in ("primary", "backup")}
    if not any(copies.values()):
        return None
    for role, reason in (("primary", "PrimaryRunning"), ("backup", "BackupRunning")):
        if copies[role] and all(map(serving, copies[role])):
            return condition("Available", True, reason, f"the {role} copy runs")
    unknown = [role for role, jobs in copies.items() if jobs and all(_maybe(job) for job in jobs)]
    if unknown:
        return condition("Available", None, "NoCopyRunning", f"nothing is heard of the {unknown[0]} copy")
    return condition("Available", False, "NoCopyRunning", "no copy runs whole")


def stalled(bundle: Bundle, jobs: Sequence[Job], mark: Broken | None, course: Course, problem: str) -> Condition | None:
    cure = f"apply a changed spec or rmctl restart bundle/{bundle.name}"
    if mark is not None:
        reason, _, words = mark.reason.partition(": ")
        return condition(
            "Stalled", True, STALLED.get(reason, reason), f"{mark.job}: {words}. Mend the cause, then {cure}"
        )
    if problem:
        return condition("Stalled", True, "InvalidSpec", problem)
    for job in jobs:
        if gave_up(bundle, job):
            words = (job.status.terminal or "").partition(": ")[2]
            return condition("Stalled", True, "JobDropped", f"{people(job)}: {words}. Mend the cause, then {cure}")
    if course.failed:
        return condition("Stalled", True, "RolloutFailed", f"{course.failed}. Mend the cause, then {cure}")
    return None


def _told(counted: JobCounts) -> str:
    verb = "jobs run" if counted.total != 1 else "job runs"
    parts = [f"{counted.running} of {counted.total} {verb}"]
    waits = "waits" if counted.waiting == 1 else "wait"
    rest: Iterable[tuple[int, str]] = (
        (counted.waiting, waits),
        (counted.dormant, "dormant"),
        (counted.completed, "completed"),
        (counted.dropped, "dropped"),
        (counted.moving, "moving"),
    )
    return ", ".join([*parts, *(f"{number} {word}" for number, word in rest if number)])


def _reason(job: Job) -> str:
    found = ready_of(job)
    if found is None or found.status == "True":
        return ""
    return AS.get(found.reason, found.reason)


def _brink(job: Job) -> bool:
    """Whether the next failure is past the ceiling; the restart that is being waited for counts as made."""
    made = job.status.restarts.last_hour + job.status.owes_restart
    ceiling = job.status.restarts.ceiling
    return ceiling is not None and made >= ceiling and job.spec.requirements.essential


def _counts(job: Job) -> bool:
    return job.spec.requirements.essential and job.status.phase not in ("dormant", "completed")


def _maybe(job: Job) -> bool:
    """Ready, or silent or paused and so perhaps still ready."""
    found = ready_of(job)
    return found is not None and (found.status != "False" or found.reason == "Paused")


def _restarts(jobs: Sequence[Job]) -> str:
    made = sum(job.status.restarts.last_hour for job in jobs)
    return f"; {made} restart{'s' * (made != 1)} in the last hour" if made else ""


def _zones(jobs: Sequence[Job]) -> str:
    copies = list(_zones_of(jobs))
    return f"; {', '.join(copies)}" if len(copies) == 2 else ""


def _zones_of(jobs: Sequence[Job]) -> Iterator[str]:
    for role in ("primary", "backup"):
        zones = sorted({job.status.zone for job in jobs if job.spec.role == role and job.status.zone})
        if zones:
            yield f"{role} {' and '.join(zones)}"
