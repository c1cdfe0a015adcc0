"""Schedule: instants that come round, and what is woken then."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from resources.frozen import Instant
from resources.resource import Resource, Spec, Status
from resources.schedules import Cron, TimeZone
from resources.wakes import Wakes


class ScheduleSpec(Spec):
    """`cron` has five fields, read in `timeZone`."""

    cron: Cron
    time_zone: TimeZone = "UTC"
    wakes: Annotated[tuple[Wakes, ...], Field(min_length=1, max_length=100)]


class ScheduleStatus(Status):
    next_run_at: Instant | None = None
    last_run_at: Instant | None = None


class Schedule(Resource[ScheduleSpec, ScheduleStatus]):
    """A schedule as it was read."""
