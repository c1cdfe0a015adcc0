"""Schedule: wakes what it names at its instants; those that passed while nobody ran are made good once."""

from __future__ import annotations

from typing import ClassVar

from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources.conditions import condition
from resources.instants import rfc3339
from resources.reference import Ref
from resources.schedule import Schedule, ScheduleStatus
from resources.schedules import next_time
from resources.wakes import ref_of


class ScheduleController:
    kind: ClassVar[str] = "schedule"
    places: ClassVar[bool] = False

    def observe(self, resource: Schedule, reader: Reader) -> tuple[Ref, ...]:
        """Those that are there: nothing is woken that does not exist."""
        named = [ref_of(one.kind, one.key, resource.project) for one in resource.spec.wakes]
        return tuple(ref for ref in named if reader.find(ref) is not None)

    def decide(self, resource: Schedule, view: tuple[Ref, ...], facts: Facts) -> Decision:
        spec, status = resource.spec, resource.status
        same = status.observed_generation == resource.generation
        planned = status.next_run_at if same else None
        due = planned is not None and planned <= facts.now
        if planned is None or due:
            planned = next_time(spec.cron, spec.time_zone, facts.now)
        missing = len(spec.wakes) - len(view)
        absent = f"; {missing} of {len(spec.wakes)} are not there" if missing else ""
        words = f"wakes {len(view)} at {rfc3339(planned)}{absent}"
        return Decision(
            ScheduleStatus(
                next_run_at=planned,
                last_run_at=facts.now if due else status.last_run_at,
                conditions=(condition("Ready", True, "Scheduled", words),),
            ),
            wake=view if due else (),
            requeue_after=max(planned - facts.now, 0.0),
        )
