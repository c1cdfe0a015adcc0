"""Instances that are not wanted any more: asked to end, waited for, and only then let go of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from controllers.expansion import INSTANCE_FINALIZER
from controllers.fences import fenced
from controllers.jobs import commands, ids
from controllers.jobs.fate import ENDED, Alive, Fate, Lost, Sent, Unsent, gone, may_live, next_look, unseen
from controllers.jobs.recovery import SPACING_SECONDS, changed, last_exit, without_instance
from controllers.jobs.sentences import clock
from controllers.jobs.step import Step
from controllers.jobs.view import JobView
from controllers.runtime.decision import Decision, Release
from resources.conditions import Condition, condition
from resources.effect import Effect, EffectRecord
from resources.event import Event
from resources.facts import Instance

Fates = Mapping[str, Fate]
AWAY_SECONDS = 30.0
"""How often a job asks after an instance that holds no room any more: what becomes of its node wakes others only."""
UNFENCED = "it was started before onDisconnect became stop, and nothing ends it there"


class Living(NamedTuple):
    instance: str
    node: str


def asked(step: Step, fates: Fates, keep: str | None) -> Step:
    """Everything but `keep` is asked to end: what lives is stopped, a start that nobody may have seen is withdrawn."""
    view = step.view
    effects: list[Effect] = []
    cancel: list[str] = []
    for claim in view.allocations:
        fate = fates[claim.instance]
        start = view.effects.get(ids.read(claim.instance).start_key)
        open_start = start is not None and not (start.final or start.cancelled)
        if start is not None and open_start and (isinstance(fate, Lost) or claim.instance != keep):
            cancel.append(start.key)
        if claim.instance != keep and (isinstance(fate, Alive) or (isinstance(fate, Sent) and start and start.final)):
            effects += _stop(step, claim.instance, claim.node)
    for row in strays(view):
        if row.id != keep and view.node(row.node).connected:
            effects += _stop(step, row.id, row.node)
    cancel += _in_vain(step, fates)
    return replace(step, effects=step.effects + tuple(effects), cancel=step.cancel + tuple(cancel))


def _in_vain(step: Step, fates: Fates) -> list[str]:
    """Stops of what counts as ended with its lost node: nobody there would answer, and a deletion would wait for it."""
    view = step.view
    over = {instance for instance, fate in fates.items() if isinstance(fate, Lost)}
    over |= {row.id for row in strays(view) if gone(view.node(row.node), step.job.spec, _start_of(view, row.id))}
    stops = [record for record in view.effects.values() if record.kind == commands.STOP]
    return [r.key for r in stops if r.request["instance"] in over and not (r.final or r.cancelled)]


def strays(view: JobView) -> list[Instance]:
    """Instances alive that hold no claim: older ones on a node that was lost and came back."""
    claims = {claim.instance for claim in view.allocations}
    return [row for row in view.instances if row.alive and row.id not in claims]


def claimed(view: JobView, fates: Fates) -> list[Living]:
    """What holds room and may be alive."""
    return [Living(c.instance, c.node) for c in view.allocations if not isinstance(fates[c.instance], (*ENDED, Unsent))]


def in_the_way(step: Step) -> list[Living]:
    """Older instances that have to end before another is started: two live only while a node is cut off.

    And not even then unless the job's rule of today says so, whatever it said when the older one was given up.
    """
    view = step.view
    older = [Living(row.id, row.node) for row in strays(view)]
    if step.job.spec.on_disconnect == "replace":
        return [one for one in older if view.node(one.node).connected]
    older += [Living(start.request["instance"], start.target) for start in unseen(view)]
    return [one for one in older if may_live(view.node(one.node), _start_of(view, one.instance))]


def stopping(step: Step, live: Sequence[Living], fates: Fates | None = None) -> Decision:
    """An older instance is on its way out; the next begins when it is known to have ended."""
    instance, name = live[0]
    step = step.let_go().on(phase="stopping", node=name, instance_id=instance)
    if step.view.node(name).silent:
        why = _waits_for(step, live[0])
        ready = condition("Ready", None, "NodeSilent", f"is to stop on {name}{why}")
    else:
        then = " and starts anew" if step.job.spec.active else ""
        ready = condition("Ready", False, "Stopping", f"stops on {name}{then}")
    return step.end(ready, room=name, after=_next_look(step, live, fates or {}))


def deleting(step: Step, fates: Fates) -> Decision:
    """Stop what lives, wait until it is known to have ended, give the room back, and let the record go."""
    view = step.view
    over = tuple(c for c in view.allocations if isinstance(fates[c.instance], (*ENDED, Unsent)))
    holders = claimed(view, fates)
    left = [
        Living(row.id, row.node)
        for row in strays(view)
        if not gone(view.node(row.node), step.job.spec, _start_of(view, row.id))
    ]
    live = holders + left
    step = replace(step, held=over).let_go()
    if not live:
        step = replace(step, status=without_instance(changed(step.status, phase="stopping", next_start_at=None)))
        rest = tuple(name for name in step.job.finalizers if name != INSTANCE_FINALIZER)
        if INSTANCE_FINALIZER in step.job.finalizers:
            step = step.plus(events=(Event("JobDeleted", "its room is given back; its record goes last"),))
        return step.end(condition("Ready", False, "Deleting", "is being deleted"), finalizers=rest)
    where = live[0].node
    why = _waits_for(step, live[0]) if view.node(where).silent else ""
    step = step.on(phase="stopping", node=where, next_start_at=None)
    ready = condition("Ready", False, "Deleting", f"is being deleted: stops on {where}{why}")
    return step.end(ready, room=holders[0].node if holders else None, after=_next_look(step, live, fates))


def with_last_exit(step: Step) -> Step:
    """Remember how an instance ended that was asked to."""
    rows = [row for claim in step.held if (row := step.view.instance(claim.instance)) is not None and not row.alive]
    known = step.status.last_exit
    newest = max(rows, key=lambda row: row.at, default=None)
    if newest is None or (known is not None and known.at >= newest.at):
        return step
    return step.on(last_exit=last_exit(newest))


def _waits_for(step: Step, away: Living) -> str:
    cure = f"rmctl node lost {away.node}"
    if step.view.node(away.node).lost:
        unfenced = f"{UNFENCED}: " if _unfenced(step, away.instance) else ""
        return f", which is lost; {unfenced}{cure} gives it up"
    if step.job.spec.on_disconnect == "hold" or _unfenced(step, away.instance):
        return f", which is silent; waits until it is back or {cure} gives it up"
    return f", which is silent; given up once that node is lost, or by {cure}"


def _unfenced(step: Step, instance: str) -> bool:
    """It was started under another rule than `stop`, which is the job's by now."""
    return step.job.spec.on_disconnect == "stop" and not fenced(_start_of(step.view, instance))


def _start_of(view: JobView, instance: str) -> EffectRecord | None:
    return view.effects.get(ids.read(instance).start_key)


def _stop(step: Step, instance: str, node: str) -> Iterator[Effect]:
    """One stop an instance; another after a while if the agent refused it and the instance lives on."""
    key = ids.read(instance)
    made = [r for r in step.view.effects.values() if r.key == key.stop_key or r.key.startswith(f"{key.stop_key}/")]
    refused = [r for r in made if r.state == "rejected"]
    if len(made) > len(refused):
        return
    if refused and step.now < max(r.completed_at or r.created_at for r in refused) + SPACING_SECONDS[0]:
        return
    yield commands.stop(step.job, key, node, again=len(refused))


def _next_look(step: Step, live: Sequence[Living], fates: Fates) -> float | None:
    """When a refused stop is repeated, or a start that nobody heard of counts as forgotten."""
    instants: list[float | None] = []
    given_back = {claim.allocation_id for claim in step.claims if isinstance(claim, Release)}
    rooms = {claim.instance for claim in step.view.allocations if claim.id not in given_back}
    for claim in live:
        fate = fates.get(claim.instance)
        if claim.instance not in rooms and not step.view.node(claim.node).connected:
            instants.append(step.now + AWAY_SECONDS)
        key = ids.read(claim.instance)
        if isinstance(fate, Sent):
            instants.append(next_look(fate.record, step.now))
        refused = (r for r in step.view.effects.values() if r.key.startswith(key.stop_key) and r.state == "rejected")
        instants += [(r.completed_at or r.created_at) + SPACING_SECONDS[0] for r in refused]
    return min((at for at in instants if at is not None and at > step.now), default=None)


def silent_ready(step: Step, instance: str, node: str, doing: str) -> Condition | None:
    """Nothing certain can be said of a job whose node is silent."""
    state = step.view.node(node)
    if not state.silent:
        return None
    cure = f"rmctl node lost {node} gives it up"
    if state.lost and _unfenced(step, instance):
        said = f"{doing} {node}, which is lost; {UNFENCED}: held there until the node is back or {cure}"
    elif state.lost:
        said = f"{doing} {node}, which is lost; held there until it is back or {cure}"
    else:
        said = f"{doing} {node}, which has been silent since {clock(state.silent_since or step.now)}"
    return condition("Ready", None, "NodeSilent", said)
