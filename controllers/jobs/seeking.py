"""A job without an instance: it rests for a reason that people are told, or looks for a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controllers import placing
from controllers.jobs import commands, ids, sentences
from controllers.jobs.endings import in_the_way, stopping, with_last_exit
from controllers.jobs.question import question
from controllers.jobs.recovery import SPACING_SECONDS, without_instance
from controllers.jobs.step import Step
from controllers.runtime.decision import Decision, Facts, Release, Reserve
from placement import Placed, Request, Unschedulable, place
from placement.answers import NO_CAPACITY
from placement.explain import after_lost_races, drawn, own_reservations
from placement.trace import FIRST_RANKED, summary
from resources.allocation import Allocation
from resources.conditions import Condition, condition
from resources.devices import Booking
from resources.event import Event
from resources.instants import rfc3339
from resources.job import JobStatus, TakenFrom
from resources.pool import Pool
from resources.reference import Ref

TICK_SECONDS = 30.0
"""How long a job waits for a change before it looks again by itself."""
IN_TURN_SECONDS = 1.0
"""How far ahead of a job that leaves its reservation those are who waited for its room."""
PRIMARY_SECONDS = 1.0
"""How long a backup waits for the primary's first plan, should nobody wake it."""


def rest_or_place(step: Step, facts: Facts) -> Decision:
    step = with_last_exit(step)
    resting = _resting(step)
    if resting is not None:
        return resting
    due = step.status.next_start_at
    if due is not None and due > step.now:
        return _backoff(step, due)
    older = in_the_way(step)
    if older:
        return stopping(step, older)
    pool = step.view.pool
    if pool is None:
        said = f"waits for a place: there is no pool {step.job.spec.pool}"
        step = _pending(step.let_go())
        return step.end(_no_fit(said), unfit=("NoPool", f"no pool {step.job.spec.pool}"), after=step.now + TICK_SECONDS)
    if any(claim.ends_at is not None and claim.ends_at <= step.now for claim in step.held):
        said = "has left its reservation, and looks for a place once those have looked who waited for one"
        step = _pending(step.let_go())
        return step.end(condition("Ready", False, "Starting", said), after=step.now + IN_TURN_SECONDS)
    if _after_primary(step):
        said = "waits until the primary copy has been looked after, to stay out of its way"
        step = _pending(step.let_go())
        return step.end(condition("Ready", False, "Starting", said), after=step.now + PRIMARY_SECONDS)
    return _place(step, pool, facts)


def may_return(step: Step, claim: Allocation) -> bool:
    """Whether what a lost node runs may still be alive and wanted; `stop` has ended it, and so has a person's word."""
    return step.job.spec.on_disconnect == "replace" and not step.view.node(claim.node).given_up


def elsewhere_or_wait(step: Step, given_up: Step, claim: Allocation, facts: Facts) -> Decision:
    """Give up what a lost node runs only for a place elsewhere: without one, its return is the best hope there is.

    `given_up` is the step as it would be after the loss.
    """
    decision = rest_or_place(given_up, facts)
    if decision.no_place_since is None:
        return decision
    fresh = step.status.phase != "pending"
    told = decision.status
    assert isinstance(told, JobStatus)
    waiting = step.on(
        **{
            name: getattr(told, name)
            for name in ("phase", "conditions", "plans", "planned_at", "waiting_since", "node")
        },
        instance_id=claim.instance,
        observed_generation=told.observed_generation,
    )
    events = tuple(event for event in decision.events if fresh or event.type == "PlacementFailed")
    return replace(decision, status=waiting.status, claims=step.claims, events=events)


def _resting(step: Step) -> Decision | None:
    """Given up, completed, dormant, stopped by its broken bundle, or too early."""
    job, status, spec = step.job, step.status, step.job.spec
    quiet = _emptied(step.let_go()).on(waiting_since=None)
    if status.terminal is not None:
        words, reason = sentences.words_of(status.terminal), sentences.reason_of(status.terminal)
        cure = f"{words}. Mend the cause, then apply it or rmctl restart {sentences.bundle_of(job)}"
        return quiet.on(phase="dropped").end(
            condition("Ready", False, "Dropped", f"is given up: {words}"), stalled=(reason, cure)
        )
    if status.phase == "completed":
        end = "exit 0" if status.last_exit is None else sentences.last_words(status.last_exit)
        return quiet.on(phase="completed").end(condition("Ready", True, "Completed", f"completed: {end}"))
    if not spec.active:
        return quiet.on(phase="dormant", next_start_at=None, owes_restart=False).end(_dormant(step))
    if spec.placing_stopped:
        said = f"is not placed: {sentences.bundle_of(job)} is broken"
        return quiet.on(phase="pending", next_start_at=None, owes_restart=False).end(
            condition("Ready", False, "Broken", said)
        )
    begin = spec.start_date_time
    lead = 0.0 if step.view.pool is None else step.view.pool.spec.lead_seconds
    if begin is not None and step.now < begin - lead:
        said = f"is scheduled to start at {rfc3339(begin)}"
        return quiet.on(phase="scheduled").end(condition("Ready", False, "Scheduled", said), after=begin - lead)
    return None


def _backoff(step: Step, due: float) -> Decision:
    """The room of the last instance is kept for the next start, unless its node is silent or refused the start."""
    kept = [claim for claim in step.held if not step.view.node(claim.node).silent and not _refused(step)]
    over = tuple(Release(claim.id) for claim in step.held if claim not in kept)
    node = kept[0].node if kept else None
    step = _emptied(step.plus(claims=over)).on(phase="backoff", node=node, waiting_since=None)
    looping = step.status.consecutive_failures > 1 and not _refused(step)
    reason = "Starting" if _refused(step) else "CrashLooping" if looping else "Recovering"
    ready = condition("Ready", False, reason, sentences.waiting_for_start(step.job, step.status))
    return step.end(ready, room=None if node is None else f"{node}, room held until the start", after=due)


def _place(step: Step, pool: Pool, facts: Facts) -> Decision:
    """Ask the placer on the view less the room that this decision gives back."""
    if facts.conflicts:
        said = after_lost_races(facts.conflicts, list(facts.excluded.values())[-1])
        return _pending(step.let_go()).end(_no_fit(f"waits for a place: {said}"), unfit=("NoFit", said), after=step.now)
    policy = placing.policy_of(pool.spec, step.view.scheduling, archived=pool.deleting)
    with step.view.fleet.without(claim.id for claim in step.held) as fleet:
        request = question(step.job, step.status, step.view, fleet, facts.excluded, now=step.now)
        made = place(request, fleet, policy, seed=facts.seed, first=FIRST_RANKED)
        own = "" if made.placed else own_reservations(request, fleet, policy)
    payload = summary(made, policy.ranking).to_dict()
    payload["drawn"] = list(drawn(made, policy.ranking))
    payload["replay"] = {"seed": facts.seed, "now": step.now, "excluded": dict(facts.excluded), **facts.seen}
    settings = step.view.scheduling.to_document()
    payload["replay"] |= {"scheduling": settings} if settings else {}
    payload["replay"]["without"] = [claim.id for claim in step.held]
    payload["replay"]["status"] = step.status.model_dump(include={"excluded_node", "excluded_reason", "ever_ran"})
    if isinstance(made.answer, Placed):
        return _placed(step, made.answer, request, payload)
    code = made.answer.code if isinstance(made.answer, Unschedulable) else NO_CAPACITY
    return _nowhere(step, payload, own, code)


def _placed(step: Step, answer: Placed, request: Request, payload: Mapping[str, object]) -> Decision:
    """Claim the room and order the start, in one decision."""
    job, spec, status = step.job, step.job.spec, step.status
    instance = ids.InstanceId(job.uid, status.run_generation, status.attempt)
    claim = _claim(step, answer, str(instance))
    node = step.view.fleet.node(answer.node)
    restarts = status.restarts
    if status.owes_restart:
        restarts = restarts.model_copy(update={"at": (*restarts.at, step.now)})
    of = f"{payload['nodes']} node{'s' if payload['nodes'] != 1 else ''}"
    within = "" if answer.inside is None else f", in its reservation {answer.inside.name}"
    event = Event("PlacementDecision", f"{answer.node} of {of}, tier {answer.tier}{within}", payload=payload)
    step = step.let_go().on(
        restarts=restarts,
        owes_restart=False,
        next_start_at=None,
        excluded_node=None,
        excluded_reason=None,
        waiting_since=None,
        planned_at=None,
        plans=0,
        node=answer.node,
        tier=answer.tier,
        zone=None if node is None else node.zone or None,
        instance_id=str(instance),
        instance_key=spec.role,
        devices=tuple(atom.id for atom in answer.devices),
        reservation=_taken_from(answer),
        gpu_index=next((atom.position for atom in answer.devices if atom.kind == placing.GPU), None),
    )
    step = step.plus(claims=(Reserve(claim, request.labels),), events=(event,), wake=_followers(step))
    begin = spec.start_date_time
    if begin is not None and begin > step.now:
        ready = condition("Ready", False, "Scheduled", f"has its place on {answer.node} and starts at {rfc3339(begin)}")
        return step.on(phase="scheduled").end(ready, room=answer.node, after=begin, cite=event)
    effect = commands.start(job, instance, answer.node, step.status.devices, step.status.gpu_index)
    ready = condition("Ready", False, "Starting", f"starts on {answer.node}")
    return step.on(phase="starting").plus(effects=(effect,)).end(ready, room=answer.node, cite=event)


def _taken_from(answer: Placed) -> TakenFrom | None:
    inside = answer.inside
    return None if inside is None else TakenFrom(name=inside.name, uid=inside.reservation, until=inside.end)


def _nowhere(step: Step, payload: Mapping[str, object], own: str, code: str) -> Decision:
    """An exclusion for a refused start holds for one plan: without another node, that one is asked again.

    `own` tells of the reservations that are meant for the job.
    """
    sentence = f"{payload['sentence']}{own}"
    only_once = _refused(step) and step.status.excluded_node is not None
    told = step.status.planned_at == step.now
    step = _pending(step.let_go()).on(
        plans=step.status.plans + (not told),
        planned_at=step.now,
        next_start_at=None,
        excluded_node=None if only_once else step.status.excluded_node,
        excluded_reason=None if only_once else step.status.excluded_reason,
    )
    event = None
    if not told:
        event = Event("PlacementFailed", code, "Warning", payload)
        step = step.plus(events=(event,), wake=_followers(step, untried=True))
    return step.end(
        _no_fit(f"waits for a place: {sentence}"),
        unfit=("NoFit", sentence),
        after=step.now + (SPACING_SECONDS[0] if only_once else TICK_SECONDS),
        no_place_since=(step.job.spec.pool, step.view.capacity_revision),
        cite=event,
    )


def _claim(step: Step, answer: Placed, instance: str) -> Allocation:
    job, spec = step.job, step.job.spec
    amounts = placing.amounts_of(spec)
    return Allocation(
        id=instance,
        uid=job.uid,
        owner=job.ref,
        instance=instance,
        pool=spec.pool,
        node=answer.node,
        capacity_milli=amounts.capacity_milli,
        cores=amounts.cores,
        memory_mib=amounts.memory_mib,
        ports=spec.requirements.required_host_ports,
        exclusive=placing.exclusive(spec, [sibling.mate for sibling in step.view.siblings]),
        devices=tuple(Booking(atom.id, atom.units) for atom in answer.devices),
        starts_at=step.now if answer.devices or answer.inside else None,
        ends_at=None if answer.inside is None else answer.inside.end,
        inside=None if answer.inside is None else answer.inside.reservation,
        tenant=None if answer.inside is None else answer.inside.tenant,
    )


def _followers(step: Step, *, untried: bool = False) -> tuple[Ref, ...]:
    """Who may look for a place now: the rest of a co-located group, and backups that waited for a primary.

    `untried`: only those that have not looked yet. A plan that failed tells the others nothing new.
    """
    spec = step.job.spec
    refs = []
    for other in step.view.siblings:
        theirs = other.mate.spec
        grouped = theirs.role == spec.role and theirs.job_name in spec.co_locate_with
        behind = spec.role == "primary" and theirs.role == "backup" and other.untried
        if other.waits and (grouped or behind) and (other.untried or not untried):
            refs.append(other.ref)
    return tuple(refs)


def _after_primary(step: Step) -> bool:
    """A backup that is to keep away from the primary looks second, once."""
    spec = step.job.spec
    if spec.role != "backup" or step.status.ever_ran or step.status.plans:
        return False
    if "forbid" not in (spec.forbid.same_node, spec.forbid.same_az, spec.forbid.same_cloud):
        return False
    return any(other.untried for other in step.view.siblings if other.mate.spec.role == "primary")


def _pending(step: Step) -> Step:
    since = step.status.waiting_since
    return _emptied(step).on(phase="pending", waiting_since=step.now if since is None else since)


def _emptied(step: Step) -> Step:
    status = without_instance(step.status)
    where = ("node", "tier", "zone", "address", "instance_key", "reservation")
    return step.on(**{name: getattr(status, name) for name in where}).on(
        instance_id=None, pid=None, started_at=None, ready_at=None, ports=(), devices=(), gpu_index=None
    )


def _refused(step: Step) -> bool:
    return (step.status.excluded_reason or "").startswith(sentences.REFUSED)


def _no_fit(message: str) -> Condition:
    return condition("Ready", False, "NoFit", message)


def _dormant(step: Step) -> Condition:
    start = f"rmctl start {sentences.people(step.job)}"
    return condition("Ready", True, "Dormant", f"is dormant until it is started: {start}")
