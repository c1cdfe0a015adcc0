"""From what a runner says at the end of a pass to a decision that the runtime can commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import Annotated, Any

from pydantic import Field, ValidationError

from controllers.definitions.ledger import Nonsense
from controllers.definitions.telling import bounded
from controllers.runtime.backoff import Draws
from controllers.runtime.decision import Decision
from resources import conditions
from resources.canonical import Document
from resources.conditions import Condition, condition
from resources.defined import RESERVED, DefinedStatus, WorkflowRun, status_of
from resources.effect import EFFECTS_FINALIZER
from resources.event import Event
from resources.frozen import Frozen, Number, Text
from resources.names import TYPE
from resources.resource import Resource
from resources.workflow_run import RunRecord

MAX_CONDITIONS = 100
MAX_EVENTS = 100
MAX_EVENT = 64 * 1024
MAX_FILES = 100
JITTER = (0.8, 1.2)
LONGEST_SECONDS = 365 * 86_400.0


class Told(Frozen):
    type: Text
    message: Text
    severity: Annotated[Text, Field(pattern="^(Normal|Warning)$")] = "Normal"


class Answer(Frozen):
    """The last message of a pass. A status that is not there stays as it was."""

    after: Annotated[Number, Field(ge=0)] | None = None
    status: dict[str, Any] | None = None
    conditions: tuple[Condition, ...] = ()
    finalizers: tuple[Text, ...] | None = None
    events: tuple[Told, ...] = ()
    reason: Text = ""
    busy: bool = False
    every: Annotated[Number, Field(ge=1)] | None = None
    at: Number | None = None
    files: Annotated[dict[str, tuple[int, int, int] | None], Field(max_length=MAX_FILES)] = Field(default_factory=dict)


def read(said: Document) -> Answer:
    """Raises Nonsense."""
    try:
        answer = Answer.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        raise Nonsense(f"the result's {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    _check(answer)
    return answer


def decision_of(
    resource: Resource[Any, Any], answer: Answer, *, again: bool, run: RunRecord | None, now: float, random: Draws
) -> Decision:
    """`again`: another pass follows, though this one said that it is settled."""
    own = resource.status.own if answer.status is None else answer.status
    told = merged(resource, tuple(map(_short, answer.conditions)))
    after = answer.after
    if after is None:
        after = 0.0 if again else _polled(answer, now, random)
    return Decision(
        status_of(own, conditions=told, workflow_run=_shown(run) or resource.status.workflow_run),
        finalizers=answer.finalizers,
        events=tuple(Event(one.type, one.message, one.severity) for one in answer.events),  # type: ignore[arg-type]
        requeue_after=None if after is None else min(after, LONGEST_SECONDS),
    )


def held_back(resource: Resource[Any, Any], decision: Decision, forgotten: Sequence[str]) -> Decision:
    """Says what a person can do where only effects that the definition does not ask for keep a resource."""
    kept = resource.finalizers if decision.finalizers is None else decision.finalizers
    going = resource.deleting and not set(kept) - {EFFECTS_FINALIZER}
    if not forgotten or not going or not isinstance(decision.status, DefinedStatus):
        return decision
    key, more = forgotten[0], f" (and of {len(forgotten) - 1} more)" if len(forgotten) > 1 else ""
    name = f"{resource.ref.kind}/{resource.key}"
    words = (
        f"is being deleted: nobody knows what became of effect {key}{more}: "
        f"rmctl effects resolve {quote(f'{resource.uid}:{key}')} --adopt REF --reason WHY if it happened, "
        f"else rmctl delete {quote(name)} --force --reason WHY"
    )
    told = (condition("Ready", False, "Deleting", words), condition("Stalled", True, "EffectUnknown", words))
    status = decision.status.model_copy(update={"conditions": merged(resource, told)})
    return replace(decision, status=status)


def _shown(run: RunRecord | None) -> WorkflowRun | None:
    if run is None:
        return None
    return WorkflowRun(request_id=run.key, run_id=run.run_id, state=run.state, attempt=run.attempt)


def _polled(answer: Answer, now: float, random: Draws) -> float | None:
    """When a settled resource is looked at again though nothing happened."""
    times = [] if answer.every is None else [answer.every * random.uniform(*JITTER)]
    if answer.at is not None:
        times.append(max(answer.at - now, 0.0))
    return min(times, default=None)


def stalled(resource: Resource[Any, Any], reason: str, message: str, *, after: float) -> Decision:
    """Nothing can be done for a resource until somebody mends its definition."""
    told = merged(resource, (condition("Ready", False, reason, message), condition("Stalled", True, reason, message)))
    run = resource.status.workflow_run
    return Decision(status_of(resource.status.own, conditions=told, workflow_run=run), requeue_after=after)


def merged(resource: Resource[Any, Any], new: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """By type: what a pass does not name stays, and is not known any more once the spec has moved."""
    named = {one.type for one in new}
    old = [one for one in resource.status.conditions if one.type not in named and one.type != "Stalled"]
    kept = tuple(one if one.observed_generation == resource.generation else _unknown(one) for one in old)
    every = (*new, *kept)
    if conditions.find(every, "Ready") is None:
        every = (condition("Ready", None, "NotReported", "the definition did not say"), *every)
    return every


def _short(told: Condition) -> Condition:
    """Every list shows the message, so it has an end."""
    return told.model_copy(update={"message": bounded(told.message)})


def _unknown(old: Condition) -> Condition:
    return condition(old.type, None, "NotReported", f"was {old.status} for generation {old.observed_generation}")


def _check(answer: Answer) -> None:
    for name in (*(one.type for one in answer.conditions), *(answer.finalizers or ())):
        if not TYPE.fullmatch(name):
            raise Nonsense(f'"{name[:80]}": types and finalizers must match {TYPE.pattern}')
    for one in answer.events:
        if not TYPE.fullmatch(one.type) or len(one.message.encode()) > MAX_EVENT:
            raise Nonsense(f"event {one.type[:80]}: a type that is none, or more than 64 KiB")
    if len(answer.conditions) > MAX_CONDITIONS:
        raise Nonsense(f"at most {MAX_CONDITIONS} conditions")
    if len(answer.events) > MAX_EVENTS:
        raise Nonsense(f"at most {MAX_EVENTS} events in a pass")
    if len(set(answer.finalizers or ())) != len(answer.finalizers or ()):
        raise Nonsense("a finalizer is named twice")
    reserved = [name for name in (answer.status or {}) if name in (*RESERVED, *DefinedStatus.model_fields)]
    if reserved:
        raise Nonsense(f"status.{reserved[0]} is the runtime's")
