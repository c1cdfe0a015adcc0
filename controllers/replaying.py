"""A decision of the placer made again: from what stood in the log when it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controllers import placing
from controllers.jobs.question import question
from controllers.jobs.view import JobView, Sibling
from controllers.placing import Mate
from controllers.runtime.fleet import Fleet
from controllers.runtime.seen import board_of, seen, spare_of
from controllers.scheduling import changes
from placement import Amounts, Claim, FleetView, NodeView, in_order, plan
from placement.trace import Summary, summary
from resources.canonical import Document
from resources.devices import Device
from resources.job import Job, JobSpec, JobStatus
from resources.node import NodeSpec, NodeStatus
from resources.pool import PoolSpec
from resources.reference import Ref
from store import events, history, placement_log
from store.tx import Tx

DECISIONS = ("PlacementDecision", "PlacementFailed")


@dataclass(frozen=True)
class Replay:
    """`equal` None: it cannot be told any more, and `reason` says why."""

    equal: bool | None
    decided: Document
    replayed: Document
    reason: str = ""


def replay(tx: Tx, event: int, fleet: Fleet) -> Replay | None:
    """None without such a decision of a job. Everything counts as the fleet view showed it to that pass."""
    record = events.by_id(tx, event)
    if record is None or record.type not in DECISIONS or record.ref.kind != "job" or "replay" not in record.payload:
        return None
    decided = Summary.from_dict(record.payload).to_dict()
    told: Mapping[str, Any] = record.payload["replay"]
    if "status" not in told:
        return Replay(None, decided, {}, "it was made before there was a log of placements")
    try:
        jobs, nodes, pools = (history.before(tx, told["revision"] + 1, kind) for kind in KINDS)
    except history.Compacted:
        return Replay(None, decided, {}, "what stood there then has been dropped from the log of changes")
    document = jobs.get(record.ref)
    pool = None if document is None else pools.get(Ref("pool", document["spec"]["pool"]))
    if document is None or pool is None:
        return Replay(None, decided, {}, "the job or its pool stood in no log yet")
    job = _job(record.ref, document)
    number = told["placements"]
    view = _view(placement_log.devices_at(tx, number), nodes, pools)
    for allocation in placement_log.claims_at(tx, number):
        view.put_claim(seen(allocation))
    for claim in told.get("ahead", ()):
        view.put_claim(_ahead(claim))
    for name in told["without"]:
        view.drop_claim(name)
    mates = [_job(ref, other) for ref, other in jobs.items() if ref != record.ref]
    siblings = tuple(
        Sibling(mate.ref, Mate(mate.ref, mate.spec))
        for mate in mates
        if mate.spec.bundle == job.spec.bundle and mate.project == job.project
    )
    status = job.status.model_copy(update=told["status"])
    asked = question(job, status, JobView(siblings=siblings), view, told["excluded"], now=told["now"])
    spec, going = PoolSpec.model_validate(pool["spec"]), "deletionTimestamp" in pool["metadata"]
    policy = placing.policy_of(spec, fleet.scheduling, archived=going)
    again = summary(plan(asked, view, policy, seed=told["seed"]), policy.ranking).to_dict()
    others = "" if again == decided else changes(told.get("scheduling", {}), fleet.scheduling.to_document())
    if others:
        return Replay(None, decided, {}, f"the server places by other settings now: {others}")
    return Replay(again == decided, decided, again)


KINDS = ("job", "node", "pool")


def _job(ref: Ref, document: Document) -> Job:
    metadata = document["metadata"]
    spec, status = JobSpec.model_validate(document["spec"]), JobStatus.model_validate(document.get("status") or {})
    return Job(ref, metadata["uid"], metadata.get("generation", 1), 0, spec, status, document["spec"])


def _view(
    devices: Mapping[str, tuple[Device, ...]],
    nodes: Mapping[Ref, Document],
    pools: Mapping[Ref, Document],
) -> FleetView:
    view = FleetView()
    specs = {ref.name: PoolSpec.model_validate(pool["spec"]) for ref, pool in pools.items()}
    for ref, document in nodes.items():
        spec, status = (
            NodeSpec.model_validate(document["spec"]),
            NodeStatus.model_validate(document.get("status") or {}),
        )
        pool = specs.get(spec.pool)
        home = None if pool is None else pool.fixed_tier
        tier = spec.tier or ("" if home is None else home.name)
        standing = None if pool is None else pool.tier(tier)
        amounts = (status.capacity.get(name) for name in ("vcpu", "cores", "memory"))
        caps = [0.0 if amount is None else amount.cap for amount in amounts]
        labels = document["metadata"].get("labels", {})
        reasons = dict.fromkeys(in_order(_reasons(spec, status)))
        if not status.capacity:
            reasons["no inventory"] = None
        view.put_node(
            NodeView(
                name=ref.name,
                pool=spec.pool,
                tier=tier,
                zone=status.zone or spec.zone or "",
                cloud="" if standing is None else standing.kind,
                booted=status.boot_id is not None,
                labels={
                    key: (value, "system" if key.startswith("rmctl/") else "person") for key, value in labels.items()
                },
                no_schedule=tuple(reasons),
                capacity=Amounts(round(caps[0] * 1000), round(caps[1]), round(caps[2])),
                images=frozenset(status.images),
                spare=spare_of(spec, status),
                board=board_of(devices.get(ref.name, ())),
            )
        )
    return view


def _reasons(spec: NodeSpec, status: NodeStatus) -> Iterator[str]:
    """A cordon and a dedication stand from the write of the spec on, the others from that of the status."""
    yield from (["cordoned"] if spec.cordoned else [])
    yield from (f"dedicated={taint.value}" for taint in spec.taints)
    for row in status.no_schedule:
        if row.by != "spec" and (row.by or not row.reason.startswith("dedicated=")):
            yield row.reason


def _ahead(plain: Document) -> Claim:
    """A claim as the view showed it before it was stored."""
    lists = {name: tuple(value) for name, value in plain.items() if isinstance(value, list)}
    devices = tuple((atom, units) for atom, units in plain["devices"])
    return Claim(**{**plain, **lists, "amounts": Amounts(*plain["amounts"]), "devices": devices})
