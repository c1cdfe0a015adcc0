"""The wanted instance is on its way or alive: what it does, told as it is."""

from __future__ import annotations

from controllers.jobs import commands, ids, sentences
from controllers.jobs.endings import in_the_way, silent_ready, stopping
from controllers.jobs.fate import Alive, Doubtful, Fate, Sent, next_look
from controllers.jobs.step import Step
from controllers.runtime.decision import Decision, Release
from resources.allocation import Allocation
from resources.conditions import Condition, condition
from resources.event import Event
from resources.facts import Instance
from resources.instants import kept, rfc3339
from resources.job import Job, TakenFrom

DOUBT_SECONDS = 60.0
"""An answer that stays out this long, with the node there to be asked, needs a person."""


def follow(step: Step, claim: Allocation, fate: Fate) -> Decision:
    """One of Unsent, Sent, Doubtful, Alive."""
    step = step.on(
        node=claim.node,
        instance_id=claim.instance,
        instance_key=step.job.spec.role,
        reservation=_taken_from(step, claim),
        waiting_since=None,
        planned_at=None,
        plans=0,
    )
    match fate:
        case Alive(row=row):
            return _alive(step, claim, row)
        case Doubtful(record=record):
            return _doubtful(step, claim, record.key, record.started_at or record.created_at, record.error)
        case Sent(record=record):
            late = f": {record.error}" if record.error and record.state == "pending" else ""
            ready = silent_ready(step, claim.instance, claim.node, "starts on") or _starting(
                f"starts on {claim.node}{late}"
            )
            return step.on(phase="starting").end(ready, room=claim.node, after=next_look(record, step.now))
        case _:
            return _unsent(step, claim)


def _taken_from(step: Step, claim: Allocation) -> TakenFrom | None:
    """Its end may have been moved."""
    known = step.status.reservation
    if claim.inside is None or known is None:
        return None
    return known if known.until == claim.ends_at else known.model_copy(update={"until": claim.ends_at})


def _unsent(step: Step, claim: Allocation) -> Decision:
    """Room ahead of the start; the start itself at its time, if it is still wanted then."""
    spec = step.job.spec
    if not spec.active or spec.placing_stopped:
        return step.plus(claims=(Release(claim.id),)).end(_starting("gives its place back"), after=step.now)
    begin = spec.start_date_time
    older = in_the_way(step)
    if older:
        return stopping(step, older)
    if begin is not None and begin > step.now:
        ready = condition("Ready", False, "Scheduled", f"has its place on {claim.node} and starts at {rfc3339(begin)}")
        return step.on(phase="scheduled").end(ready, room=claim.node, after=begin)
    effect = commands.start(
        step.job,
        ids.read(claim.instance),
        claim.node,
        tuple(booking.device for booking in claim.devices),
        step.status.gpu_index,
    )
    ready = silent_ready(step, claim.instance, claim.node, "starts on") or _starting(f"starts on {claim.node}")
    return step.on(phase="starting").plus(effects=(effect,)).end(ready, room=claim.node)


def _doubtful(step: Step, claim: Allocation, key: str, since: float, error: str | None) -> Decision:
    step = step.on(phase="starting")
    silent = silent_ready(step, claim.instance, claim.node, "starts on")
    if silent is not None:
        return step.end(silent, room=claim.node)
    said = f"nobody knows whether {key} on {claim.node} happened" + (f": {error}" if error else "")
    cure = f"{said}; rmctl effects resolve {step.job.uid}:{key} settles it"
    stuck = step.now >= since + DOUBT_SECONDS
    return step.end(
        condition("Ready", False, "EffectUnknown", said),
        room=claim.node,
        stalled=("EffectUnknown", cure) if stuck else None,
        after=None if stuck else since + DOUBT_SECONDS,
    )


def _alive(step: Step, claim: Allocation, row: Instance) -> Decision:
    node = step.view.node(claim.node)
    known = step.view.fleet.node(claim.node)
    lives = row.state in ("running", "ready")
    step = step.on(
        phase="running" if lives else "stopping" if row.state == "stopping" else "starting",
        zone=node.zone or None,
        address=node.address or None,
        tier=step.status.tier if known is None else known.tier,
        instance_key=row.key,
        pid=row.pid,
        ports=row.ports,
        started_at=row.started_at,
        ready_at=row.ready_at,
        ever_ran=step.status.ever_ran or lives,
    )
    if row.state == "ready" and row.ready_at is not None and step.job.status.ready_at != kept(row.ready_at):
        step = step.plus(events=(Event("JobUpdated", _became_ready(row)),))
    verb = "runs on" if lives else "starts on"
    ready = silent_ready(step, claim.instance, claim.node, verb) or _ready(step.job, row, claim.node)
    return step.end(ready, room=claim.node)


def _ready(job: Job, row: Instance, node: str) -> Condition:
    match row.state:
        case "ready" if row.ready:
            return condition("Ready", True, "Running", f"runs on {node}{_inside(job)}")
        case "ready":
            detail = f": {row.not_ready_detail}" if row.not_ready_detail else ""
            return condition("Ready", False, "NotReady", f"runs on {node} and is not ready{detail}")
        case "running":
            detail = f": {row.not_ready_detail}" if row.not_ready_detail else ""
            return _starting(f"runs on {node} and is not ready yet{detail}")
        case "stopping":
            return condition("Ready", False, "Stopping", f"ends on {node}" + (f": {row.reason}" if row.reason else ""))
        case _:
            return _starting(f"starts on {node}")


def _inside(job: Job) -> str:
    taken = job.status.reservation
    if taken is None:
        return ""
    return f" in its reservation {taken.name}" + ("" if taken.until is None else f" until {rfc3339(taken.until)}")


def _starting(message: str) -> Condition:
    return condition("Ready", False, "Starting", message)


def _became_ready(row: Instance) -> str:
    if row.ready_at is None or row.started_at is None:
        return "running and ready"
    return f"running, then ready after {sentences.span(max(row.ready_at - row.started_at, 0.0))}"
