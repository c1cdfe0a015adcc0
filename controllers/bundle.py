"""Bundle: makes the jobs that it stands for, rolls changes out, tells when it is broken, and takes its jobs with it."""

from __future__ import annotations

from typing import ClassVar

from controllers.bundles import resilience, verdict
from controllers.bundles.children import changes, held_document, wanted_document
from controllers.bundles.remembered import Remembered
from controllers.bundles.rollout import Course, course
from controllers.bundles.view import BundleView, observe
from controllers.expansion import Expected
from controllers.runtime.controller import Reader
from controllers.runtime.decision import Apply, Decision, Delete, Facts
from resources import conditions
from resources.bundle import Broken, Bundle, BundleStatus
from resources.conditions import Condition, condition
from resources.event import Event
from resources.validation import Invalid

JOBS_FINALIZER = "rmctl/jobs"
"""Kept on a bundle until no job of it is left."""


class BundleController:
    kind: ClassVar[str] = "bundle"
    places: ClassVar[bool] = False

    def __init__(self) -> None:
        self._known = Remembered()

    def observe(self, resource: Bundle, reader: Reader) -> BundleView:
        return observe(resource, reader)

    def decide(self, resource: Bundle, view: BundleView, facts: Facts) -> Decision:
        return _deleting(resource, view) if resource.deleting else _live(resource, view, self._known, facts.now)


def _live(bundle: Bundle, view: BundleView, known: Remembered, now: float) -> Decision:
    jobs = {job.name: job for job in view.jobs}
    mark = verdict.broken(bundle, view.jobs, now)
    try:
        expected = known.expanded(bundle, view.templates)
    except Invalid as invalid:
        return _unusable(bundle, view, mark, str(invalid))
    documents = {
        one.key.wire: wanted_document(bundle, one.document, jobs.get(one.key.wire), broken=mark is not None)
        for one in expected
    }
    way = course(bundle, expected, documents, jobs, now)
    for name in way.held:
        documents[name] = held_document(bundle, jobs[name], broken=mark is not None)
    children = changes(bundle, expected, documents, jobs)
    status = _status(bundle, view, expected, mark, way)
    after = None if way.next_look is None else max(way.next_look - now, 0.0)
    return Decision(
        status,
        finalizers=_with(bundle.finalizers),
        children=children,
        events=_events(bundle, status, children),
        requeue_after=after,
    )


def _unusable(bundle: Bundle, view: BundleView, mark: Broken | None, problem: str) -> Decision:
    """A template is gone or changed, and the spec makes no jobs any more: what runs stays."""
    way = Course(bundle.status.rollout)
    status = _status(bundle, view, None, mark, way, problem)
    return Decision(status, finalizers=_with(bundle.finalizers), events=_events(bundle, status, ()))


def _status(
    bundle: Bundle,
    view: BundleView,
    expected: tuple[Expected, ...] | None,
    mark: Broken | None,
    way: Course,
    problem: str = "",
) -> BundleStatus:
    """`expected` None: it is not known which jobs there should be, so those that there are count."""
    names = None if expected is None else {one.key.wire for one in expected}
    jobs = [job for job in view.jobs if names is None or job.name in names]
    counted = verdict.counts(jobs, 0 if names is None else len(names) - len(jobs))
    told: tuple[Condition | None, ...] = (
        verdict.ready(bundle, jobs, counted, mark, way, problem),
        verdict.available(jobs),
        resilience.verdict(bundle, jobs, view.domains),
        verdict.stalled(bundle, jobs, mark, way, problem),
    )
    return BundleStatus(
        observed_generation=bundle.generation,
        conditions=tuple(c for c in told if c is not None),
        state="live" if mark is None else "broken",
        replica_count=bundle.spec.replica_count,
        jobs=counted,
        rollout=way.rollout,
        broken=mark,
    )


def _deleting(bundle: Bundle, view: BundleView) -> Decision:
    """Every job is asked to go; each ends its instance first. The last one lets the bundle go."""
    left = len(view.jobs)
    told = "is being deleted" if not left else f"is being deleted: {left} job{'s' * (left != 1)} to end"
    told += verdict.way_out(view.jobs)
    status = BundleStatus(
        observed_generation=bundle.generation,
        conditions=(condition("Ready", False, "Deleting", told),),
        state="deleting",
        replica_count=bundle.spec.replica_count,
        jobs=verdict.counts(view.jobs),
    )
    children = tuple(Delete(job.ref) for job in view.jobs if not job.deleting)
    if left:
        return Decision(status, children=children)
    rest = tuple(name for name in bundle.finalizers if name != JOBS_FINALIZER)
    events = (Event("BundleDeleted", "deleted"),) if JOBS_FINALIZER in bundle.finalizers else ()
    return Decision(status, finalizers=rest, events=events)


def _with(finalizers: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if JOBS_FINALIZER in finalizers else (*finalizers, JOBS_FINALIZER)


def _events(bundle: Bundle, status: BundleStatus, children: tuple[Apply | Delete, ...]) -> tuple[Event, ...]:
    events = []
    if bundle.status.observed_generation != bundle.generation:
        written = f", {len(children)} job{'s' * (len(children) != 1)} written" if children else ""
        events.append(Event("BundleUpdated", f"generation {bundle.generation}{written}"))
    if status.broken is not None and bundle.status.broken != status.broken:
        events.append(Event("BundleBroken", f"{status.broken.job}: {status.broken.reason}", "Warning"))
    was, is_ = (conditions.find(s.conditions, "ResilienceDegraded") for s in (bundle.status, status))
    if is_ is not None and is_.status == "True" and (was is None or (was.status, was.message) != ("True", is_.message)):
        events.append(Event("ResilienceDegraded", is_.message, "Warning"))
    return tuple(events)
