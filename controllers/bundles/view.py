"""What a bundle's pass looks at: its jobs, the templates it reads, and the failure domains that its copies stand in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from controllers.expansion import template_names
from controllers.run_fingerprint import run_fingerprint
from controllers.runtime.controller import Reader
from resources import conditions
from resources.bundle import Bundle
from resources.conditions import Condition
from resources.job import Job
from resources.node import Node
from resources.pool import Pool
from resources.reference import Ref
from resources.template import Template, TemplateSpec


class Domain(NamedTuple):
    """Where one node stands. `durable`: its provider does not take it back."""

    node: str
    zone: str
    cloud: str
    durable: bool


@dataclass(frozen=True)
class BundleView:
    jobs: Sequence[Job] = ()
    templates: Mapping[str, TemplateSpec] = field(default_factory=dict)
    domains: Mapping[str, Domain] = field(default_factory=dict)


def observe(bundle: Bundle, reader: Reader) -> BundleView:
    jobs = tuple(job for job in reader.owned(bundle.uid, "job") if isinstance(job, Job))
    templates = {}
    for name in template_names(bundle.spec):
        found = reader.find(Ref("template", name, bundle.project))
        if isinstance(found, Template) and not found.deleting:
            templates[name] = found.spec
    names = sorted({job.status.node for job in jobs if job.status.node}) if bundle.spec.resilience_policy else []
    domains = {name: domain for name in names if (domain := _domain(name, reader)) is not None}
    return BundleView(jobs, templates, domains)


def _domain(name: str, reader: Reader) -> Domain | None:
    node = reader.find(Ref("node", name))
    if not isinstance(node, Node):
        return None
    pool = reader.find(Ref("pool", node.spec.pool))
    spec = pool.spec if isinstance(pool, Pool) else None
    tier = None if spec is None else spec.tier(node.spec.tier) if node.spec.tier else spec.fixed_tier
    cloud, durable = ("", True) if tier is None else (tier.kind, tier.durable)
    return Domain(name, node.status.zone or "", cloud, durable)


def ready_of(job: Job) -> Condition | None:
    """The Ready condition, as far as it speaks of what the job should do now.

    A spec that changed in nothing that an instance feels leaves the last word standing until the job's next pass.
    """
    found = conditions.find(job.status.conditions, "Ready")
    if found is None or job.status.observed_generation == job.generation:
        return found
    woken = found.reason == "Dormant" and job.spec.active
    return None if woken or job.status.run_fingerprint != run_fingerprint(job.spec) else found


def serving(job: Job) -> bool:
    """Whether an instance of it works, of whichever spec."""
    found = conditions.find(job.status.conditions, "Ready")
    return found is not None and found.status == "True" and job.status.phase == "running"


def is_ready(job: Job) -> bool:
    found = ready_of(job)
    return found is not None and found.status == "True"
