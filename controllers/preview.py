"""Questions to the placer outside a pass: why a job waits and what would help, and where a bundle's jobs would go."""

from __future__ import annotations

from dataclasses import dataclass

from controllers.bundles.verdict import gave_up
from controllers.expansion import BUNDLE_LABEL, Expected, another_run, expand, template_names
from controllers.jobs.question import question
from controllers.jobs.view import JobView, Sibling
from controllers.placing import Mate, owner_of, policy_of, request_for
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from placement import FleetView, Placed, PoolPolicy, Provision, Request, claim_for, plan
from placement.explain import Suggestion, Trace, drawn, own_reservations, sentence, trace, tree, would_fit
from placement.request import CAPABILITY_PREFIX
from resources.bundle import Bundle
from resources.job import Job
from resources.pool import Pool
from resources.reference import Ref
from resources.template import Template
from store.tx import Tx


@dataclass(frozen=True)
class Explanation:
    """`nodes` are (node, every refusal or verdict); `would_fit` holds only what the placer confirmed."""

    sentence: str
    nodes: tuple[tuple[str, str], ...]
    would_fit: tuple[str, ...]
    chosen: str | None = None


@dataclass(frozen=True)
class Preview:
    """Where one job would go now; `node` None: nowhere, and `would_fit` is what the placer confirmed to help.

    `tree` is the trace as lines for people, where it was asked for.
    """

    job: str
    node: str | None
    tier: str | None
    sentence: str
    answer: str = "unschedulable"
    """runs, completed, dropped, restarts, placed, provision or unschedulable"""
    would_fit: tuple[str, ...] = ()
    tree: str = ""
    missing: tuple[str, ...] = ()
    """Capabilities that nothing in its pool has: no node, and no instance type that could be launched."""
    reservation: str | None = None
    """The reservation that it would take its room from."""
    drawn: tuple[str, ...] = ()
    """The nodes of which it would get one by chance, `node` among them."""


def explain(tx: Tx, job: Job, fleet: Fleet, server_started_at: float) -> Explanation | None:
    """How the placer answers for this job now; its own claims are taken out of the view. None without a pool."""
    with fleet.planning():
        reader = SnapshotReader(tx, fleet, server_started_at)
        pool = reader.find(Ref("pool", job.spec.pool))
        if not isinstance(pool, Pool):
            return None
        view = fleet.view.copy()
        for allocation in reader.allocations(uid=job.uid):
            view.drop_claim(allocation.id)
        mates = [
            Mate(other.ref, other.spec)
            for other in reader.by_label("job", BUNDLE_LABEL, job.spec.bundle, job.project)
            if other.uid != job.uid
        ]
    siblings = tuple(Sibling(mate.ref, mate) for mate in mates)
    request = question(job, job.status, JobView(siblings=siblings), view, now=tx.now)
    policy = policy_of(pool.spec, reader.scheduling(), archived=pool.deleting)
    told = trace(request, view, policy)
    help_ = would_fit(request, view, policy) if told.outcome == "unschedulable" else ()
    return Explanation(told.sentence, _nodes(told), tuple(map(_suggested, help_)))


def _nodes(told: Trace) -> tuple[tuple[str, str], ...]:
    return tuple((node.node, "; ".join(node.refusals) or node.verdict) for node in told.nodes)


def _suggested(suggestion: Suggestion) -> str:
    return f"{suggestion.text}: {suggestion.command}" if suggestion.command else suggestion.text


def preview(tx: Tx, bundle: Bundle, fleet: Fleet, view: FleetView, *, traced: bool = False) -> tuple[Preview, ...]:
    """One after the other, each taking its room on `view`, a copy; jobs that stay as they are keep their place."""
    reader = SnapshotReader(tx, fleet, 0.0)
    named = (reader.find(Ref("template", name, bundle.project)) for name in template_names(bundle.spec))
    templates = {template.name: template.spec for template in named if isinstance(template, Template)}
    expected = expand(bundle.name, bundle.spec, templates)
    active = [made for made in expected if _active(reader, bundle, made)]
    return tuple(_placed(reader, bundle, made, expected, view, traced=traced) for made in active)


def _active(reader: SnapshotReader, bundle: Bundle, made: Expected) -> bool:
    """What start and stop said of a job that there is stays said."""
    job = reader.find(Ref("job", made.key.wire, bundle.project))
    return job.spec.active if isinstance(job, Job) else made.spec.active


def _placed(
    reader: SnapshotReader,
    bundle: Bundle,
    made: Expected,
    expected: tuple[Expected, ...],
    view: FleetView,
    *,
    traced: bool,
) -> Preview:
    ref = Ref("job", made.key.wire, bundle.project)
    held = view.nodes_of(owner_of(ref))
    name = made.key.people
    pool = reader.find(Ref("pool", made.spec.pool))
    if not isinstance(pool, Pool):
        return Preview(name, None, None, f"there is no pool {made.spec.pool}")
    others = [Mate(Ref("job", o.key.wire, bundle.project), o.spec) for o in expected if o.key != made.key]
    policy = policy_of(pool.spec, reader.scheduling(), archived=pool.deleting)
    job = reader.find(ref)
    changed = isinstance(job, Job) and another_run(job.spec, made.spec)
    own = [one.id for one in reader.allocations(uid=job.uid)] if isinstance(job, Job) else []
    for claim in own if changed else ():
        view.drop_claim(claim)
    request = request_for(ref, made.spec, others, view, now=reader.now)
    told = ""
    if traced:  # what it has is not in its own way
        with view.without(own) as seen:
            told = tree(trace(request, seen, policy))
    if isinstance(job, Job) and not changed and job.status.phase == "completed":
        return Preview(name, None, None, "has completed", "completed", tree=told)
    if isinstance(job, Job) and not changed and gave_up(bundle, job):
        return Preview(name, None, None, "stays down until it is restarted or its bundle changes", "dropped", tree=told)
    if held and not changed:
        node = view.node(held[0])
        return Preview(name, held[0], node.tier if node else None, f"runs on {held[0]}", "runs", tree=told)
    done = plan(request, view, policy)
    match done.answer:
        case Placed(node=chosen, tier=tier, devices=atoms, inside=inside):
            view.put_claim(claim_for(request, chosen, f"preview/{made.key.wire}", atoms, inside))
            answer = "restarts" if held else "placed"
            within = inside.name if inside is not None else None
            lots = drawn(done, policy.ranking)
            return Preview(name, chosen, tier, sentence(done), answer, tree=told, reservation=within, drawn=lots)
        case Provision(tier=tier):
            return Preview(name, None, tier, sentence(done), "provision", tree=told)
        case _:
            help_ = tuple(map(_suggested, would_fit(request, view, policy)))
            missing = _missing(request, view, policy)
            said = sentence(done) + own_reservations(request, view, policy)
            return Preview(name, None, None, said, would_fit=help_, tree=told, missing=missing)


def _missing(request: Request, view: FleetView, policy: PoolPolicy) -> tuple[str, ...]:
    offered = {key for node in view.pool(request.pool) for key in node.labels}
    offered |= {key for tier in policy.tiers for shape in tier.shapes for key in shape.labels}
    wanted = [key for key in request.labels if key.startswith(CAPABILITY_PREFIX)]
    return tuple(sorted(key.removeprefix(CAPABILITY_PREFIX) for key in wanted if key not in offered))
