"""A pass in the making: what has been concluded so far, and the decision that it ends in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from controllers.jobs import sentences
from controllers.jobs.recovery import HOUR, ceiling, changed, recent
from controllers.jobs.view import JobView
from controllers.runtime.decision import Decision, Release, Reserve
from resources.allocation import Allocation
from resources.conditions import Condition, condition
from resources.effect import Effect
from resources.event import Event
from resources.job import Job, JobStatus
from resources.reference import Ref


@dataclass(frozen=True)
class Step:
    """`held` are claims whose instances are over: room that is kept for the next or given back."""

    job: Job
    view: JobView
    now: float
    status: JobStatus
    held: tuple[Allocation, ...] = ()
    claims: tuple[Reserve | Release, ...] = ()
    effects: tuple[Effect, ...] = ()
    cancel: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    wake: tuple[Ref, ...] = ()

    def on(self, **fields: Any) -> Step:
        """The same step with more of the status known."""
        return replace(self, status=changed(self.status, **fields))

    def plus(
        self,
        *,
        claims: tuple[Reserve | Release, ...] = (),
        effects: tuple[Effect, ...] = (),
        events: tuple[Event, ...] = (),
        wake: tuple[Ref, ...] = (),
    ) -> Step:
        return replace(
            self,
            claims=self.claims + claims,
            effects=self.effects + effects,
            events=self.events + events,
            wake=self.wake + wake,
        )

    def let_go(self) -> Step:
        """Give back what is held."""
        return replace(self.plus(claims=tuple(Release(claim.id) for claim in self.held)), held=())

    def end(
        self,
        ready: Condition,
        *,
        room: str | None = None,
        unfit: tuple[str, str] | None = None,
        stalled: tuple[str, str] | None = None,
        after: float | None = None,
        no_place_since: tuple[str, int] | None = None,
        finalizers: tuple[str, ...] | None = None,
        cite: Event | None = None,
    ) -> Decision:
        """`room` is where it has a place, `unfit` why it has none, `after` the instant of the next look.

        What is withdrawn before anybody tried it is settled by the commit, and nobody else wakes this key then.
        """
        made = recent(self.status, self.now)
        restarts = self.status.restarts.model_copy(
            update={"at": made, "last_hour": len(made), "ceiling": ceiling(self.job.spec, self.view.pool)}
        )
        told = [ready, _placed(room, unfit), _crashing(self.status, ready)]
        if stalled is not None:
            told.append(condition("Stalled", True, *stalled))
        instants = [after, made[0] + HOUR + 1 if made else None, self.now if self.cancel else None]
        status = changed(
            self.status,
            observed_generation=self.job.generation,
            restarts=restarts,
            conditions=tuple(c for c in told if c is not None),
        )
        return Decision(
            status,
            finalizers=finalizers,
            claims=self.claims,
            effects=self.effects,
            cancel=self.cancel,
            events=self.events,
            wake=tuple(dict.fromkeys(self.wake)),
            requeue_after=min((max(at - self.now, 0.0) for at in instants if at is not None), default=None),
            no_place_since=no_place_since,
            cite=cite,
        )


def _placed(room: str | None, unfit: tuple[str, str] | None) -> Condition | None:
    if unfit is not None:
        return condition("Unschedulable", True, *unfit)
    return None if room is None else condition("Unschedulable", False, "Placed", room)


def _crashing(status: JobStatus, ready: Condition) -> Condition | None:
    """Told from the second failure in a row on, and denied while it is ready again."""
    if status.consecutive_failures < 2:
        return None
    end = (
        ""
        if status.last_exit is None
        else f", the last {sentences.exit_words(status.last_exit.code, status.last_exit.signal)}"
    )
    looping = ready.status != "True"
    reason = "RepeatedExit" if looping else "Running"
    return condition("CrashLooping", looping, reason, f"{status.consecutive_failures} ends in a row{end}")
