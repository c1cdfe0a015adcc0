"""Static checks across documents, made before anything is stored: references, and what templates must complete."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from controllers.expansion import Expected, expand, template_names
from controllers.placing import asks_of
from placement.devices import MOST_ASKS
from resources.bundle import BundleSpec
from resources.canonical import Document
from resources.names import ROLES
from resources.node import NodeSpec
from resources.pool import FENCE_MARGIN_SECONDS, LEAST_FENCE_SECONDS, Disconnect, PoolSpec
from resources.reference import Ref
from resources.reservation import ReservationSpec
from resources.resource import Spec
from resources.template import TemplateSpec
from resources.validation import FieldError, Invalid
from resources.webhook import WebhookSpec

MARGIN = f"{FENCE_MARGIN_SECONDS:g} s"
LEAST = f"{FENCE_MARGIN_SECONDS + LEAST_FENCE_SECONDS:g}"


class Lookups(Protocol):
    """What else there is: in the store, or in the same set of documents."""

    def pool(self, name: str) -> Document | None:
        """The spec of a pool."""
        ...

    def pools(self) -> Iterable[str]: ...

    def template(self, project: str, name: str) -> Document | None:
        """The spec of a template."""
        ...

    def secret(self, project: str, name: str, key: str) -> bool:
        """Whether a secret has this key."""
        ...

    def criteria(self) -> Collection[str]:
        """What the levels of a ranking may name; none where it is not known, as without a server."""
        ...

    def fenced(self, pool: str) -> Iterable[str]:
        """Jobs in a pool whose `onDisconnect` is `stop`."""
        ...


def check(ref: Ref, spec: Spec, lookups: Lookups) -> None:
    """Raises Invalid with every problem of a spec that already has the right shape."""
    rule = CHECKS.get(ref.kind)
    problems = rule(ref, spec, lookups) if rule else []
    if problems:
        raise Invalid(problems)


def expected(ref: Ref, spec: BundleSpec, lookups: Lookups) -> tuple[Expected, ...]:
    """The jobs that a bundle stands for with the templates that there are. Raises Invalid."""
    found = {name: lookups.template(ref.project, name) for name in template_names(spec)}
    templates = {name: TemplateSpec.model_validate(one) for name, one in found.items() if one is not None}
    return expand(ref.name, spec, templates)


def _bundle(ref: Ref, spec: Spec, lookups: Lookups) -> list[FieldError]:
    assert isinstance(spec, BundleSpec)
    problems = _pool("spec.pool", spec.pool, lookups)
    if spec.resilience_policy is not None:
        problems += _pool("spec.resiliencePolicy.pool", spec.resilience_policy.pool, lookups)
    try:
        jobs = expected(ref, spec, lookups)
        problems += _secrets(ref, spec, jobs, lookups) + _fences(spec, jobs, lookups) + _groups(spec, jobs)
    except Invalid as invalid:
        problems += invalid.errors
    return problems


def _secrets(ref: Ref, spec: BundleSpec, jobs: Iterable[Expected], lookups: Lookups) -> list[FieldError]:
    """Both copies of a job are given the same."""
    places = {entry.job_name: f"spec.jobs[{index}].secretEnv" for index, entry in enumerate(spec.jobs)}
    return [
        FieldError(
            f"{places[job.key.job]}.{name}",
            f"secret not found: {where.secret} has no key {where.key}",
            f"rmctl secret set {where.secret} {where.key}",
        )
        for job in jobs
        if job.key.role == ROLES[0]
        for name, where in job.spec.secret_env.items()
        if not lookups.secret(ref.project, where.secret, where.key)
    ]


def _fences(spec: BundleSpec, jobs: Iterable[Expected], lookups: Lookups) -> list[FieldError]:
    """A pool that gives its nodes up too soon cannot keep the promise of `stop`."""
    places = {entry.job_name: f"spec.jobs[{index}].onDisconnect" for index, entry in enumerate(spec.jobs)}
    found = {}
    for job in jobs:
        limits = _limits(job.spec.pool, lookups)
        if job.spec.on_disconnect == "stop" and not limits.fences:
            said = f"stop ends a job {MARGIN} before its node counts as lost, and in pool {job.spec.pool} that is after"
            cure = f"disconnect.lostSeconds of pool {job.spec.pool}: at least {LEAST}; or onDisconnect: hold"
            found[job.key.job] = FieldError(places[job.key.job], f"{said} {limits.lost_seconds:g} s", cure)
    return list(found.values())


def _groups(spec: BundleSpec, jobs: Iterable[Expected]) -> list[FieldError]:
    """What stands together asks for its devices together, of one node."""
    places = {entry.job_name: f"spec.jobs[{index}].coLocateWith" for index, entry in enumerate(spec.jobs)}
    primary = {job.key.job: job.spec for job in jobs if job.key.role == ROLES[0]}
    for name, own in primary.items():
        group = [own, *(primary[other] for other in own.co_locate_with if other in primary)]
        asks = sum(len(asks_of(one)) for one in group)
        if len(group) > 1 and asks > MOST_ASKS:
            said = f"{asks} kinds of devices are asked for together on one node, at most {MOST_ASKS}"
            return [FieldError(places[name], said)]
    return []


def _limits(pool: str, lookups: Lookups) -> Disconnect:
    return Disconnect.model_validate((lookups.pool(pool) or {}).get("disconnect", {}))


def _pool_itself(ref: Ref, spec: Spec, lookups: Lookups) -> list[FieldError]:
    assert isinstance(spec, PoolSpec)
    return _patience(ref, spec, lookups) + _criteria(spec, lookups.criteria())


def _criteria(spec: PoolSpec, known: Collection[str]) -> list[FieldError]:
    if not known or isinstance(spec.ranking, str):
        return []
    return [
        FieldError(f"spec.ranking.levels[{index}]", f'"{name}" is not one of {", ".join(known)}')
        for index, level in enumerate(spec.ranking.levels)
        for name in level
        if name not in known
    ]


def _patience(ref: Ref, spec: PoolSpec, lookups: Lookups) -> list[FieldError]:
    held = () if spec.disconnect.fences else sorted(lookups.fenced(ref.name))
    if not held:
        return []
    said = f"must be at least {LEAST}: onDisconnect of {held[0]} is stop, which ends it {MARGIN} before"
    return [FieldError("spec.disconnect.lostSeconds", said, "")]


def _pool(path: str, name: str | None, lookups: Lookups) -> list[FieldError]:
    if name is None or lookups.pool(name) is not None:
        return []
    known = sorted(lookups.pools())
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return [FieldError(path, f'no pool "{name}"{guess}', "" if near else f"pools: {', '.join(known) or 'none yet'}")]


def _node(_ref: Ref, spec: Spec, lookups: Lookups) -> list[FieldError]:
    assert isinstance(spec, NodeSpec)
    pool = lookups.pool(spec.pool)
    if pool is None:
        return _pool("spec.pool", spec.pool, lookups)
    tiers = [str(tier.get("name")) for tier in pool.get("tiers", ())]
    if spec.tier is None or spec.tier in tiers:
        return []
    return [FieldError("spec.tier", f'pool "{spec.pool}" has no tier "{spec.tier}"', f"tiers: {', '.join(tiers)}")]


def _reservation(_ref: Ref, spec: Spec, lookups: Lookups) -> list[FieldError]:
    assert isinstance(spec, ReservationSpec)
    return _pool("spec.pool", spec.pool, lookups)


def _webhook(ref: Ref, spec: Spec, lookups: Lookups) -> list[FieldError]:
    assert isinstance(spec, WebhookSpec)
    where = spec.secret
    if lookups.secret(ref.project, where.secret, where.key):
        return []
    told = f"secret not found: {where.secret} has no key {where.key}"
    return [FieldError("spec.secret", told, f"rmctl secret set {where.secret} {where.key}")]


CHECKS: Mapping[str, Callable[[Ref, Spec, Lookups], list[FieldError]]] = {
    "bundle": _bundle,
    "node": _node,
    "pool": _pool_itself,
    "reservation": _reservation,
    "webhook": _webhook,
}
