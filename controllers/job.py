"""Job: the one record of where a job is; places, starts, stops, recovers and gives up its instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from controllers.jobs import endings, ids, recovery, seeking, serving
from controllers.jobs.fate import ENDED, Exited, Fate, Lost, Refused, Unsent, fate_of
from controllers.jobs.recovery import changed
from controllers.jobs.step import Step
from controllers.jobs.view import JobView, observe
from controllers.run_fingerprint import run_fingerprint
from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.allocation import Allocation
from resources.event import Event
from resources.instants import kept
from resources.job import Job, JobStatus
from resources.reference import Ref


class JobController:
    kind: ClassVar[str] = "job"
    places: ClassVar[bool] = True

    def observe(self, resource: Job, reader: Reader) -> JobView:
        return observe(resource, reader)

    def decide(self, resource: Job, view: JobView, facts: Facts) -> Decision:
        """Follow the instance that is wanted; end every other; place the job where it has none and should have one.

        (run generation, attempt) names the one instance that is wanted. A failure raises the attempt in the commit that
        gives the old instance up, so nothing is counted twice.
        """
        job, now = resource, kept(facts.now)
        status = job.status if job.deleting else renewed(job)
        fates = {claim.instance: fate_of(claim, job.spec, view, now) for claim in view.allocations}
        step = _in_its_time(Step(job, view, now, status), fates)
        status, wanted = step.status, _wanted(step)
        step = endings.asked(step, fates, keep=None if job.deleting else wanted)
        if job.deleting:
            return endings.deleting(step, fates)
        claim = next((c for c in view.allocations if c.instance == wanted), None)
        if claim is not None:
            if not isinstance(fates[wanted], ENDED):
                return _until(claim, now, serving.follow(step, claim, fates[wanted]))
            if isinstance(fates[wanted], Lost) and seeking.may_return(step, claim):
                return seeking.elsewhere_or_wait(
                    step, _without(_after(step, claim, fates[wanted]), fates), claim, facts
                )
            step = _after(step, claim, fates[wanted])
        step = _without(step, fates)
        live = endings.claimed(view, fates)
        return endings.stopping(step, live, fates) if live else seeking.rest_or_place(step, facts)


def _wanted(step: Step) -> str:
    return str(ids.InstanceId(step.job.uid, step.status.run_generation, step.status.attempt))


def _in_its_time(step: Step, fates: Mapping[str, Fate]) -> Step:
    """An instance in a reservation whose time is over is wanted no longer: the next one is."""
    wanted = _wanted(step)
    claim = next((c for c in step.view.allocations if c.instance == wanted), None)
    over = claim is not None and claim.ends_at is not None and claim.ends_at <= step.now
    if claim is None or not over or step.job.deleting or isinstance(fates[wanted], ENDED):
        return step
    event = Event("JobUpdated", f"the time of its reservation is over, it leaves {claim.node}")
    return step.on(attempt=step.status.attempt + 1).plus(events=(event,))


def _until(claim: Allocation, now: float, decision: Decision) -> Decision:
    """Looked at again when its time is over."""
    if claim.ends_at is None:
        return decision
    ahead = max(claim.ends_at - now, 0.0)
    after = ahead if decision.requeue_after is None else min(decision.requeue_after, ahead)
    return replace(decision, requeue_after=after)


def _without(step: Step, fates: Mapping[str, Fate]) -> Step:
    """With the claims at hand whose instances are over, or never began and are not wanted."""
    over = tuple(c for c in step.view.allocations if isinstance(fates[c.instance], (*ENDED, Unsent)))
    return replace(step, held=over)


def renewed(job: Job) -> JobStatus:
    """The status that this spec starts from: another run begins at attempt 1, and a changed bundle forgives."""
    status, spec = job.status, job.spec
    stamp = run_fingerprint(spec)
    another = stamp != status.run_fingerprint
    if not another and spec.history_generation <= status.history_generation:
        return status
    forgiven = changed(
        status,
        history_generation=spec.history_generation,
        restarts=status.restarts.model_copy(update={"at": (), "last_hour": 0}),
        consecutive_failures=0,
        terminal=None,
        owes_restart=False,
        phase="pending" if status.terminal else status.phase,
    )
    if not another:
        return forgiven
    return changed(
        forgiven,
        run_generation=job.generation,
        run_fingerprint=stamp,
        attempt=1,
        phase="pending",
        next_start_at=None,
        excluded_node=None,
        excluded_reason=None,
    )


def _after(step: Step, claim: Allocation, fate: Fate) -> Step:
    """What the end of the wanted instance leads to."""
    job, status, pool, now = step.job, step.status, step.view.pool, step.now
    match fate:
        case Exited(row=row):
            after = recovery.exited(job, status, row, pool, now)
        case Refused(record=record):
            after = recovery.refused(job, status, record, now)
        case Lost():
            after = recovery.lost(job, status, claim.node, pool, now)
        case _:
            after = recovery.vanished(job, status, claim.node, pool, now)
    refusers = () if after.refused_by is None else (Ref("node", after.refused_by),)
    return replace(step, status=after.status, events=step.events + after.events, wake=step.wake + refusers)
