"""The plan: tiers in order, each surveyed once, first without breaking a forbid and then as well as it goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from placement.answers import Answer, Placed, Plan, Provision, Ranked, TierOutcome, Unschedulable
from placement.filters import Rejection, refusal
from placement.fleet import FleetView
from placement.levels import key_of, violations
from placement.machines import Machine, machine_for
from placement.node import NodeView
from placement.policy import PoolPolicy, TierPolicy
from placement.ranking import Ranking, draw
from placement.request import Request
from placement.scene import Scene, scene_of
from placement.sentence import ARCHIVED, NO_NODES, refused

Seed = int | str | None


class Survey:
    """What the filters keep and refuse in one tier."""

    __slots__ = ("kept", "machine", "nodes", "refused", "scene", "tier")

    def __init__(self, request: Request, nodes: tuple[NodeView, ...], scene: Scene, policy: PoolPolicy) -> None:
        self.scene = scene
        self.tier = scene.tier
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


def plan(request: Request, fleet: FleetView, policy: PoolPolicy, *, seed: Seed = None) -> Plan:
    """Answer one request in full. `seed` draws among equals where the ranking says so; None takes the best."""
    if policy.archived:
        return Plan(Unschedulable(ARCHIVED), len(fleet.pool(request.pool)))
    return _Walk(request, fleet, policy, seed).plan()


def ranked(request: Request, node: NodeView, scene: Scene, ranking: Ranking) -> Ranked:
    return Ranked(node.name, node.tier, key_of(ranking, request, node, scene), violations(request, node))


def best_first(entry: Ranked) -> tuple[tuple[int, ...], str]:
    return tuple(-value for value in entry.key), entry.node


def lenient(request: Request) -> Request:
    """The request with its second chances taken: those nodes are excluded no longer."""
    if not request.second_chance:
        return request
    excluded = {name: why for name, why in request.excluded.items() if name not in request.second_chance}
    return replace(request, excluded=excluded)


def choose(candidates: list[Ranked], ranking: Ranking, seed: Seed) -> Ranked:
    """The best, or one drawn among the first top_n that equal it on all levels but the last."""
    first = candidates[0]
    equals = [entry for entry in candidates[: ranking.top_n] if entry.key[:-1] == first.key[:-1]]
    return equals[draw(seed, len(equals))]


class _Walk:
    """One plan being made."""

    def __init__(self, request: Request, fleet: FleetView, policy: PoolPolicy, seed: Seed) -> None:
        self.request = request
        self.policy = policy
        self.seed = seed
        self.fleet = fleet
        self.pool = fleet.pool(request.pool)
        self.surveys: dict[str, Survey] = {}
        self.chances = request.second_chance & request.excluded.keys()
        self.lenient = lenient(request)
        self.taken_back: Ranked | None = None

    def plan(self) -> Plan:
        answer = self._answer()
        looked = [self.surveys[tier.name] for tier in self.policy.tiers if tier.name in self.surveys]
        kept = [entry for survey in looked for entry in survey.kept]
        rejections = [rejection for survey in looked for rejection in survey.refused]
        if self.taken_back is not None:
            kept.append(self.taken_back)
            rejections = [rejection for rejection in rejections if rejection.node != self.taken_back.node]
        if answer is None:
            rejections = [self._reconsidered(rejection) for rejection in rejections] + list(self._strays())
            answer = Unschedulable(refused(rejections, len(self.pool)) if self.pool else NO_NODES)
        return Plan(
            answer,
            len(self.pool),
            tuple(kept),
            tuple(sorted(rejections)),
            tuple(self._outcomes()),
            self.policy.ranking.names,
        )

    def _answer(self) -> Answer | None:
        if any(self.request.forbid) and self.request.role == "backup":
            return self._walk(compliant=True) or self._walk(compliant=False)
        return self._walk(compliant=False)

    def _walk(self, *, compliant: bool) -> Answer | None:
        """The first tier that has a node or can start one."""
        for tier in self.policy.tiers:
            survey = self._survey(tier)
            kept = [entry for entry in survey.kept if not (compliant and entry.violated)]
            if kept:
                best = choose(kept, self.policy.ranking, self.seed)
                return Placed(best.node, best.tier, best.violated)
            machine = survey.machine
            if isinstance(machine, Machine) and not (compliant and machine.violated):
                return self._once_more(compliant) or Provision(
                    tier.name, machine.shape, machine.zones, machine.violated
                )
        return self._once_more(compliant)

    def _once_more(self, compliant: bool) -> Placed | None:
        """The excluded nodes that get a second chance before a machine is started or the answer is no."""
        for tier in self.policy.tiers if self.chances else ():
            scene = scene_of(self.request, self.fleet, tier)
            nodes = [node for node in self._of(tier) if node.name in self.chances]
            fit = [node for node in nodes if refusal(self.lenient, node, scene) is None]
            kept = [ranked(self.lenient, node, scene, self.policy.ranking) for node in fit]
            kept = sorted((entry for entry in kept if not (compliant and entry.violated)), key=best_first)
            if kept:
                self.taken_back = choose(kept, self.policy.ranking, self.seed)
                return Placed(self.taken_back.node, tier.name, self.taken_back.violated)
        return None

    def _reconsidered(self, rejection: Rejection) -> Rejection:
        """What a node with a second chance is refused for in the end."""
        node = self.fleet.node(rejection.node)
        if rejection.filter != "excluded" or rejection.node not in self.chances or node is None:
            return rejection
        return refusal(self.lenient, node, self.surveys[node.tier].scene) or rejection

    def _survey(self, tier: TierPolicy) -> Survey:
        if tier.name not in self.surveys:
            scene = scene_of(self.request, self.fleet, tier)
            self.surveys[tier.name] = Survey(self.request, self._of(tier), scene, self.policy)
        return self.surveys[tier.name]

    def _of(self, tier: TierPolicy) -> tuple[NodeView, ...]:
        return tuple(node for node in self.pool if node.tier == tier.name)

    def _strays(self) -> Iterator[Rejection]:
        """Nodes of a tier that the policy does not have."""
        known = {tier.name for tier in self.policy.tiers}
        nowhere = TierPolicy(name="")
        scene = scene_of(self.request, self.fleet, nowhere)
        for node in self.pool:
            if node.tier not in known:
                yield refusal(self.lenient, node, scene) or Rejection(node.name, "tier", f"tier {node.tier}")

    def _outcomes(self) -> Iterator[TierOutcome]:
        for tier in self.policy.tiers:
            survey = self.surveys.get(tier.name)
            if survey is None:
                yield TierOutcome(tier.name, len(self._of(tier)), 0, "", looked_at=False)
            else:
                no_machine = "" if isinstance(survey.machine, Machine) else survey.machine
                yield TierOutcome(tier.name, len(survey.nodes), len(survey.kept), no_machine)
