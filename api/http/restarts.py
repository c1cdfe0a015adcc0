"""Which running jobs a write restarts, found by comparing what makes an instance what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controllers.admission import Lookups, expected
from controllers.expansion import restarts, template_names
from resources.job import JobSpec
from resources.names import JobKey
from resources.resource import Resource
from resources.validation import Invalid
from store import resources
from store.tx import Tx

Stored = Resource[Any, Any]
LIVING = ("starting", "running")


def caused_by(tx: Tx, written: Stored, lookups: Lookups) -> tuple[str, ...]:
    """Jobs that a bundle or a template as just written restarts, by the names that people use."""
    match written.ref.kind:
        case "bundle":
            return tuple(_of(tx, written, lookups))
        case "template":
            using = (
                b for b in resources.list_all(tx, "bundle", written.project) if written.name in template_names(b.spec)
            )
            return tuple(name for bundle in using for name in _of(tx, bundle, lookups))
        case _:
            return ()


def _of(tx: Tx, bundle: Stored, lookups: Lookups) -> tuple[str, ...]:
    try:
        wanted = expected(bundle.ref, bundle.spec, lookups)
    except Invalid:
        return ()
    return tuple(key.people for key in restarts(_running(tx, bundle), wanted))


def _running(tx: Tx, bundle: Stored) -> Iterator[tuple[JobKey, JobSpec]]:
    for job in resources.owned(tx, bundle.uid):
        if job.ref.kind == "job" and job.status.phase in LIVING:
            yield JobKey(job.spec.bundle, job.spec.role, job.spec.job_name), job.spec
