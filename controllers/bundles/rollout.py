"""How a change that restarts instances reaches the two copies: the backup first, then the primary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controllers.bundles.view import is_ready, serving
from controllers.expansion import Expected
from controllers.run_fingerprint import run_fingerprint
from resources import conditions
from resources.bundle import Bundle, Rollout
from resources.canonical import Document, fingerprint
from resources.job import Job, JobSpec
from resources.names import people


@dataclass(frozen=True)
class Course:
    """`held` are names of jobs that keep what they run for now; `failed` says why the roll-out does not go on."""

    rollout: Rollout
    held: frozenset[str] = frozenset()
    failed: str = ""
    next_look: float | None = None
    waits: str = ""
    """Which job of the backup has no place, and what would help."""

    @property
    def rolling(self) -> bool:
        return self.rollout.phase != "idle"


def course(
    bundle: Bundle,
    expected: Sequence[Expected],
    documents: Mapping[str, Document],
    jobs: Mapping[str, Job],
    now: float,
) -> Course:
    prints = {one.key.wire: _print(one, documents[one.key.wire]) for one in expected}
    target = fingerprint(prints)[:16]
    old = bundle.status.rollout
    there = {name: job for name, job in jobs.items() if name in prints and not job.deleting}
    stale = [name for name, job in there.items() if run_fingerprint(job.spec) != prints[name]]
    updated = sum(name in there and _runs(there[name], prints[name]) for name in prints)
    total = len(prints)
    if not stale and (old.phase == "idle" or updated == total):
        return Course(Rollout(updated=updated, total=total, target=target))
    primary = [name for name in stale if there[name].spec.role == "primary"]
    backups = [one.key.wire for one in expected if one.key.role == "backup"]
    held = _held(bundle, primary, backups, there, prints)
    since = old.since if old.since is not None and old.target == target else now
    known = {"updated": updated, "total": total, "since": since, "target": target}
    if not held:
        both = bundle.spec.update.strategy == "backupFirst" and bool(backups)
        return Course(Rollout(phase="primary" if both else "all", **known))
    deadline = since + bundle.spec.update.ready_timeout_seconds
    failed = _failed(bundle, backups, there, prints, late=now >= deadline)
    phase = "stopped" if failed else "backup"
    waits = _without_place(backups, there)
    return Course(Rollout(phase=phase, **known), held, failed, None if failed else deadline, waits)


def _print(one: Expected, document: Document) -> str:
    """Of what the bundle adds to an expanded spec, a restart alone makes it another run."""
    if document.get("restartedAt") == one.document.get("restartedAt"):
        return one.run
    return run_fingerprint(JobSpec.model_validate(document))


def _held(
    bundle: Bundle,
    primary: Sequence[str],
    backups: Sequence[str],
    jobs: Mapping[str, Job],
    prints: Mapping[str, str],
) -> frozenset[str]:
    """The primary waits while it serves and its backup does not run the new spec; one that is down loses nothing."""
    serves = any(serving(jobs[name]) for name in primary)
    if bundle.spec.update.strategy != "backupFirst" or not backups or not serves:
        return frozenset()
    arrived = all(name in jobs and _runs(jobs[name], prints[name]) for name in backups)
    return frozenset() if arrived else frozenset(primary)


def _runs(job: Job, wanted: str) -> bool:
    """Whether it is Ready at what it should run."""
    return is_ready(job) and run_fingerprint(job.spec) == wanted and job.status.run_fingerprint == wanted


def _without_place(backups: Sequence[str], jobs: Mapping[str, Job]) -> str:
    for job in (jobs[name] for name in backups if name in jobs):
        unfit = conditions.find(job.status.conditions, "Unschedulable")
        if unfit is not None and unfit.status == "True" and job.status.observed_generation == job.generation:
            name = people(job.name)
            cure = f"rmctl why job/{name} tells what would help; update.strategy: allAtOnce waits for no backup"
            return f"{name} has no place: {unfit.message}. {cure}"
    return ""


def _failed(
    bundle: Bundle, backups: Sequence[str], jobs: Mapping[str, Job], prints: Mapping[str, str], *, late: bool
) -> str:
    for name in backups:
        job = jobs.get(name)
        if job is not None and job.status.terminal and job.status.run_fingerprint == prints[name]:
            return f"the backup's {job.spec.job_name} is given up at the new spec; the primary keeps what it runs"
    if late:
        seconds, waits = bundle.spec.update.ready_timeout_seconds, _without_place(backups, jobs)
        why = f": {waits}" if waits else ""
        return f"the backup was not ready within {seconds:g} s at the new spec; the primary keeps what it runs{why}"
    return ""
