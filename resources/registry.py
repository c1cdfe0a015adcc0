"""The kinds that exist: one line each."""

from __future__ import annotations

from resources.bundle import Bundle, BundleSpec, BundleStatus
from resources.job import Job, JobSpec, JobStatus
from resources.kind import Kind
from resources.node import Node, NodeSpec, NodeStatus
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reservation import Reservation, ReservationSpec, ReservationStatus
from resources.template import Template, TemplateSpec, TemplateStatus

KINDS: tuple[Kind, ...] = (
    Kind("pool", "pools", Pool, PoolSpec, PoolStatus, ("po",), namespaced=False, order=10),
    Kind("node", "nodes", Node, NodeSpec, NodeStatus, ("no",), namespaced=False, order=30),
    Kind("bundle", "bundles", Bundle, BundleSpec, BundleStatus, ("bd",), order=50),
    Kind("job", "jobs", Job, JobSpec, JobStatus, ("jb",), order=60, applied=False),
    Kind("reservation", "reservations", Reservation, ReservationSpec, ReservationStatus, ("rsv",), order=65),
    Kind("template", "templates", Template, TemplateSpec, TemplateStatus, ("tpl",), order=70),
)
BY_NAME = {kind.name: kind for kind in KINDS}
BY_PLURAL = {kind.plural: kind for kind in KINDS}


def kind_named(word: str) -> Kind | None:
    """The kind behind a singular, plural or short name, in any case."""
    lower = word.lower()
    return next((k for k in KINDS if lower in (k.name, k.plural, *k.short)), None)
