"""What the placer is asked for a job as it stands: the one question of passes, previews and `why`."""

from __future__ import annotations

from collections.abc import Mapping

from controllers import placing
from controllers.jobs import sentences
from controllers.jobs.view import JobView
from placement import FleetView, Request
from resources.job import Job, JobStatus


def question(
    job: Job,
    status: JobStatus,
    view: JobView,
    fleet: FleetView,
    races: Mapping[str, str] | None = None,
    *,
    now: float | None = None,
) -> Request:
    """`fleet` is the view less what this job would give back (`without`); `races` are nodes lost to others just now."""
    own = {} if status.excluded_node is None else {status.excluded_node: status.excluded_reason or sentences.RECOVERING}
    lost = dict(races or {})
    again = frozenset(own) if status.excluded_reason == sentences.RECOVERING else frozenset()
    return placing.request_for(
        job.ref,
        job.spec,
        [sibling.mate for sibling in view.siblings],
        fleet,
        ever_ran=status.ever_ran,
        excluded={**own, **lost},
        second_chance=again - lost.keys(),
        now=now,
    )
