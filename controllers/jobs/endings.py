"""Instances that are not wanted any more: asked to end, waited for, and only then let go of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from controllers.expansion import INSTANCE_FINALIZER
from controllers.jobs import commands, ids
from controllers.jobs.fate import ENDED, Alive, Fate, Lost, Sent, Unsent, gone, next_look
from controllers.jobs.recovery import SPACING_SECONDS, changed, last_exit, without_instance
from controllers.jobs.sentences import clock
from controllers.jobs.step import Step
from controllers.jobs.view import JobView
from controllers.runtime.decision import Decision
from resources.conditions import Condition, condition
from resources.effect import Effect
from resources.event import Event
from resources.facts import Instance

Fates = Mapping[str, Fate]


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
    return replace(step, effects=step.effects + tuple(effects), cancel=step.cancel + tuple(cancel))


def strays(view: JobView) -> list[Instance]:
    """Instances alive that hold no claim: older ones on a node that was lost and came back."""
    claims = {claim.instance for claim in view.allocations}
    return [row for row in view.instances if row.alive and row.id not in claims]


def claimed(view: JobView, fates: Fates) -> list[Living]:
    """What holds room and may be alive."""
    return [Living(c.instance, c.node) for c in view.allocations if not isinstance(fates[c.instance], (*ENDED, Unsent))]


def within_reach(view: JobView) -> list[Living]:
    """Older instances that have to end before another is started: two live only while a node is cut off."""
    return [Living(row.id, row.node) for row in strays(view) if view.node(row.node).connected]


def stopping(step: Step, live: Sequence[Living], fates: Fates | None = None) -> Decision:
    """An older instance is on its way out; the next begins when it is known to have ended."""
    instance, name = live[0]
    step = step.let_go().on(phase="stopping", node=name, instance_id=instance)
    if step.view.node(name).silent:
        why = _waits_for(step, name)
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
    left = [Living(r.id, r.node) for r in strays(view) if not gone(view.node(r.node), step.job.spec)]
    live = holders + left
    step = replace(step, held=over).let_go()
    if not live:
        step = replace(step, status=without_instance(changed(step.status, phase="stopping", next_start_at=None)))
        rest = tuple(name for name in step.job.finalizers if name != INSTANCE_FINALIZER)
        if INSTANCE_FINALIZER in step.job.finalizers:
            step = step.plus(events=(Event("JobDeleted", "deleted"),))
        return step.end(condition("Ready", False, "Deleting", "is being deleted"), finalizers=rest)
    where = live[0].node
    why = _waits_for(step, where) if view.node(where).silent else ""
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


def _waits_for(step: Step, name: str) -> str:
    node = step.view.node(name)
    if node.lost:
        return f", which is lost; rmctl node lost {name} gives it up"
    if step.job.spec.on_disconnect == "hold":
        return f", which is silent; waits until it is back or rmctl node lost {name} gives it up"
    return f", which is silent; given up once that node is lost, or by rmctl node lost {name}"


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
    instants = []
    for claim in live:
        fate = fates.get(claim.instance)
        key = ids.read(claim.instance)
        if isinstance(fate, Sent):
            instants.append(next_look(fate.record, step.now))
        refused = (r for r in step.view.effects.values() if r.key.startswith(key.stop_key) and r.state == "rejected")
        instants += [(r.completed_at or r.created_at) + SPACING_SECONDS[0] for r in refused]
    return min((at for at in instants if at is not None and at > step.now), default=None)


def silent_ready(step: Step, node: str, doing: str) -> Condition | None:
    """Nothing certain can be said of a job whose node is silent."""
    state = step.view.node(node)
    if not state.silent:
        return None
    if state.lost:
        said = f"{doing} {node}, which is lost; held there until it is back or rmctl node lost {node} gives it up"
    else:
        said = f"{doing} {node}, which has been silent since {clock(state.silent_since or step.now)}"
    return condition("Ready", None, "NodeSilent", said)
