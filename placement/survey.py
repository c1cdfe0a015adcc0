"""The full plan: every node of every tier looked at, kept and ranked or refused with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from placement.answers import NOT_ADMITTED, Plan, Ranked, TierOutcome, Unschedulable
from placement.cascade import Cascade, Seed, best_first, choose, ranked
from placement.filters import Rejection, refusal
from placement.fleet import FleetView
from placement.machines import Machine, machine_for
from placement.node import NodeView
from placement.policy import PoolPolicy, TierPolicy
from placement.request import Request
from placement.scene import Scene, scene_of
from placement.sentence import ARCHIVED, NO_NODES, counts, refused_by

STRAY = TierPolicy(name="")
"""Where a node stands whose tier the policy does not have."""


class TierSurvey:
    """What the filters keep and refuse in one tier."""

    __slots__ = ("kept", "machine", "nodes", "refused")

    def __init__(self, request: Request, nodes: list[NodeView], scene: Scene, policy: PoolPolicy) -> None:
        self.nodes = nodes
        self.refused: list[Rejection] = []
        self.kept: list[Ranked] = []
        for node in nodes:
            rejection = refusal(request, node, scene)
            if rejection is None:
                self.kept.append(ranked(request, node, scene, policy.ranking))
            else:
                self.refused.append(rejection)
        self.kept.sort(key=best_first)
        self.machine = machine_for(request, scene, policy, len(nodes))


class Survey:
    """Surveys of the tiers that were asked about, each made once."""

    def __init__(self, request: Request, fleet: FleetView, policy: PoolPolicy, seed: Seed) -> None:
        self.request = request
        self.policy = policy
        self.seed = seed
        self.pool = fleet.pool(request.pool)
        self.around = scene_of(request, fleet, STRAY, policy.plugins)
        self.made: dict[str, TierSurvey] = {}

    def best(self, tier: TierPolicy, *, compliant: bool) -> Ranked | None:
        kept = self.of(tier).kept
        if compliant:
            kept = [entry for entry in kept if not entry.violated]
        return choose(kept, self.policy.ranking, self.seed) if kept else None

    def machine(self, tier: TierPolicy) -> Machine | str:
        return self.of(tier).machine

    def scene(self, tier: TierPolicy) -> Scene:
        return self.around._replace(tier=tier)

    def of(self, tier: TierPolicy) -> TierSurvey:
        if tier.name not in self.made:
            self.made[tier.name] = TierSurvey(self.request, self.nodes_of(tier), self.scene(tier), self.policy)
        return self.made[tier.name]

    def nodes_of(self, tier: TierPolicy) -> list[NodeView]:
        return [node for node in self.pool if node.tier == tier.name]

    def outcomes(self) -> Iterator[TierOutcome]:
        for tier in self.policy.tiers:
            survey = self.made.get(tier.name)
            if survey is None:
                yield TierOutcome(tier.name, len(self.nodes_of(tier)), 0, "", looked_at=False)
            else:
                no_machine = "" if isinstance(survey.machine, Machine) else survey.machine
                yield TierOutcome(tier.name, len(survey.nodes), len(survey.kept), no_machine)


def plan(request: Request, fleet: FleetView, policy: PoolPolicy, *, seed: Seed = None) -> Plan:
    """Answer one request in full. `seed` draws among equals where the ranking says so; None takes the best."""
    if policy.archived:
        return Plan(Unschedulable(ARCHIVED), len(fleet.pool(request.pool)))
    survey = Survey(request, fleet, policy, seed)
    barred = None if survey.around.plugins is None else survey.around.plugins.inadmissible(request)
    if barred is not None:
        return Plan(Unschedulable(barred, NOT_ADMITTED), len(survey.pool))
    cascade = Cascade(request, fleet, policy, seed, survey)
    answer = cascade.answer()
    looked_at = [survey.made[tier.name] for tier in policy.tiers if tier.name in survey.made]
    kept = [entry for made in looked_at for entry in made.kept]
    rejections = [rejection for made in looked_at for rejection in made.refused]
    if cascade.taken_back is not None:
        kept = [entry for entry in kept if entry.node != cascade.taken_back.node]
        kept.append(cascade.taken_back)
        rejections = [rejection for rejection in rejections if rejection.node != cascade.taken_back.node]
    if answer is None:
        rejections = [last_word(node, cascade, survey.around) for node in survey.pool]
    refused = counts(rejections)
    return Plan(
        answer or Unschedulable(refused_by(refused, len(survey.pool)) if survey.pool else NO_NODES),
        len(survey.pool),
        tuple(kept),
        tuple(sorted(rejections)),
        refused,
        tuple(survey.outcomes()),
        policy.ranking.names,
    )


def last_word(node: NodeView, cascade: Cascade, around: Scene) -> Rejection:
    """What a node is refused for in the end: in its own tier, and with its second chance taken."""
    tier = next((tier for tier in cascade.policy.tiers if tier.name == node.tier), STRAY)
    rejection = refusal(cascade.lenient, node, around._replace(tier=tier))
    return rejection or Rejection(node.name, "tier", f"tier {node.tier}")
