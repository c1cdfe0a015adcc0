"""The jobs as they are to be stored: the expanded specs, and what the bundle's own state adds to each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controllers.expansion import INSTANCE_FINALIZER, Expected
from controllers.runtime.decision import Apply, Delete
from resources.bundle import Bundle
from resources.canonical import Document, without
from resources.instants import rfc3339
from resources.job import Job
from resources.reference import Ref

VERBS = ("active",)
"""Written by the verbs start and stop; a bundle leaves it alone."""


def wanted_document(bundle: Bundle, document: Document, job: Job | None, *, broken: bool) -> Document:
    """What a job's spec should be. Bundle and job may each have been asked to restart; the later word counts."""
    instants = [bundle.spec.restarted_at, None if job is None else job.spec.restarted_at]
    restarted = max((at for at in instants if at is not None), default=None)
    return _completed(bundle, document, restarted, broken=broken)


def held_document(bundle: Bundle, job: Job, *, broken: bool) -> Document:
    """What a job has now, for one that a change is not to reach yet."""
    return _completed(bundle, job.document, job.spec.restarted_at, broken=broken)


def _completed(bundle: Bundle, document: Document, restarted: float | None, *, broken: bool) -> Document:
    return {
        **without(document, *VERBS, "restartedAt", "placingStopped", "historyGeneration"),
        "historyGeneration": bundle.generation,
        **({} if restarted is None else {"restartedAt": rfc3339(restarted)}),
        **({"placingStopped": True} if broken else {}),
    }


def changes(
    bundle: Bundle,
    expected: Iterable[Expected],
    documents: Mapping[str, Document],
    jobs: Mapping[str, Job],
) -> tuple[Apply | Delete, ...]:
    """What is to be written: nothing for a job that is as it should be, and nothing for one that is on its way out."""
    made: list[Apply | Delete] = []
    names = set()
    for one in expected:
        name = one.key.wire
        names.add(name)
        job, document = jobs.get(name), documents[name]
        if job is not None and (job.deleting or _same(job, document, one.labels)):
            continue
        ref = Ref("job", name, bundle.project)
        made.append(Apply(ref, document, labels=one.labels, finalizers=(INSTANCE_FINALIZER,)))
    made += [Delete(job.ref) for name, job in jobs.items() if name not in names and not job.deleting]
    return tuple(made)


def _same(job: Job, document: Document, labels: Mapping[str, str]) -> bool:
    return without(job.document, *VERBS) == document and labels.items() <= job.labels.items()
