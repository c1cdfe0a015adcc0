"""A plan spelled out: every node with all that speaks against it or how it ranks, as plain data for records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from typing import Any, Literal

from placement.answers import Answer, Placed, Plan, Provision, Unschedulable
from placement.bookings import Inside
from placement.cascade import Seed, equal_first, lenient
from placement.filters import refusals
from placement.fleet import FleetView
from placement.levels import shares
from placement.policy import PoolPolicy
from placement.ranking import Ranking
from placement.request import Request
from placement.scene import scene_of
from placement.sentence import MOST_REASONS
from placement.survey import STRAY, plan
from resources.instants import rfc3339

FIRST_RANKED = 10

Outcome = Literal["placed", "provision", "unschedulable"]
Verdict = Literal["chosen", "drawn", "kept", "refused", "not looked at"]


@dataclass(frozen=True, slots=True)
class NodeTrace:
    """One node: its verdict, every refusal (the counted one first) and its levels by name, 0 to 1.

    One of those that are `drawn` is taken by chance.
    """

    node: str
    tier: str
    verdict: Verdict
    refusals: tuple[str, ...] = ()
    levels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TierTrace:
    """One tier: nodes looked at and kept, and why it starts no machine ("" if it may)."""

    tier: str
    looked_at: bool
    nodes: int
    kept: int
    no_machine: str


@dataclass(frozen=True, slots=True)
class Trace:
    """The whole of one plan."""

    outcome: Outcome
    sentence: str
    nodes: tuple[NodeTrace, ...]
    tiers: tuple[TierTrace, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Summary:
    """What an event keeps of a plan: the outcome, counts of the most common reasons, and the first ten ranked."""

    outcome: Outcome
    sentence: str
    nodes: int
    node: str | None = None
    tier: str | None = None
    violated: tuple[str, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    ranked: tuple[tuple[str, Mapping[str, float]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        ranked = [{"node": node, "levels": dict(levels)} for node, levels in self.ranked]
        return {**asdict(self), "violated": list(self.violated), "ranked": ranked}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Summary:
        """What else stands there is left out."""
        ranked = tuple((entry["node"], entry["levels"]) for entry in plain["ranked"])
        known = {one.name: plain[one.name] for one in fields(cls) if one.name in plain}
        return cls(**{**known, "violated": tuple(plain["violated"]), "ranked": ranked})


def outcome_of(answer: Answer) -> Outcome:
    match answer:
        case Placed():
            return "placed"
        case Provision():
            return "provision"
        case Unschedulable():
            return "unschedulable"


def sentence(done: Plan) -> str:
    """The plan in one sentence that stands alone."""
    match done.answer:
        case Placed(node=node, tier=tier, inside=inside):
            return f"{node} of {done.nodes} nodes, tier {tier}{_within(inside)}"
        case Provision(tier=tier, shape=shape):
            return f"a new {shape.instance_type} in tier {tier}"
        case Unschedulable(reason=reason):
            return reason


def _within(inside: Inside | None) -> str:
    if inside is None:
        return ""
    until = "" if inside.end is None else f" until {rfc3339(inside.end)}"
    return f", in its reservation {inside.name}{until}"


def drawn(done: Plan, ranking: Ranking) -> tuple[str, ...]:
    """The nodes that the chosen one was drawn among, the best first; none where nothing was left to chance."""
    answer = done.answer
    if not isinstance(answer, Placed) or answer.inside is not None or ranking.top_n == 1:
        return ()
    kept = [one for one in done.ranked if one.tier == answer.tier and (answer.violated or not one.violated)]
    equals = tuple(entry.node for entry in equal_first(kept, ranking)) if kept else ()
    return equals if len(equals) > 1 and answer.node in equals else ()


def summary(done: Plan, ranking: Ranking) -> Summary:
    """`ranking` is the one of the policy that the plan was made under."""
    answer = done.answer
    return Summary(
        outcome_of(answer),
        sentence(done),
        done.nodes,
        answer.node if isinstance(answer, Placed) else None,
        None if isinstance(answer, Unschedulable) else answer.tier,
        () if isinstance(answer, Unschedulable) else answer.violated,
        dict(islice(done.refused.items(), MOST_REASONS)),
        tuple((entry.node, shares(ranking, entry.key)) for entry in done.ranked[:FIRST_RANKED]),
    )


def trace(request: Request, fleet: FleetView, policy: PoolPolicy, *, seed: Seed = None) -> Trace:
    """Plan, and tell of every node of the pool what became of it: the ranked first, then the rest by name."""
    done = plan(request, fleet, policy, seed=seed)
    scenes = {tier.name: scene_of(request, fleet, tier, policy.plugins) for tier in policy.tiers}
    stray = scene_of(request, fleet, STRAY, policy.plugins)
    kept = {entry.node: entry for entry in done.ranked}
    refused = {rejection.node: rejection for rejection in done.rejections}
    nodes = []
    lots = drawn(done, policy.ranking)
    for entry in done.ranked:
        chosen = isinstance(done.answer, Placed) and done.answer.node == entry.node
        verdict: Verdict = "drawn" if entry.node in lots else "chosen" if chosen else "kept"
        nodes.append(NodeTrace(entry.node, entry.tier, verdict, (), shares(policy.ranking, entry.key)))
    for node in fleet.pool(request.pool):
        if node.name in kept:
            continue
        first = refused.get(node.name)
        if first is None:
            nodes.append(NodeTrace(node.name, node.tier, "not looked at"))
            continue
        asked = request if first.filter == "excluded" else lenient(request)
        every = refusals(asked, node, scenes.get(node.tier, stray))
        nodes.append(NodeTrace(node.name, node.tier, "refused", tuple(rejection.text for rejection in every)))
    tiers = (TierTrace(t.tier, t.looked_at, t.nodes, t.kept, t.no_machine) for t in done.tiers)
    return Trace(outcome_of(done.answer), sentence(done), tuple(nodes), tuple(tiers))
