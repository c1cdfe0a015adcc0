"""The cascade: tiers in order, first without breaking a forbid and then as well as it goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from placement.answers import Placed, Provision, Ranked
from placement.bookings import Granted, granted, leased
from placement.filters import refusal
from placement.fleet import FleetView
from placement.levels import key_of, violations
from placement.machines import Machine
from placement.node import NodeView
from placement.policy import PoolPolicy, TierPolicy
from placement.ranking import Ranking, draw
from placement.request import Request
from placement.scene import Scene
from placement.within import Part, parts

Seed = int | str | None


class Finder(Protocol):
    """How the nodes of a tier are looked through."""

    def best(self, tier: TierPolicy, *, compliant: bool) -> Ranked | None:
        """The node to take; with `compliant` only such as break no flag of the resilience policy."""
        ...

    def machine(self, tier: TierPolicy) -> Machine | str:
        """The machine that this tier could start, or why it starts none."""
        ...

    def scene(self, tier: TierPolicy) -> Scene: ...


class Cascade:
    """One request's way through the tiers."""

    def __init__(self, request: Request, fleet: FleetView, policy: PoolPolicy, seed: Seed, finder: Finder) -> None:
        self.request = request
        self.fleet = fleet
        self.policy = policy
        self.seed = seed
        self.finder = finder
        self.chances = request.second_chance & request.excluded.keys()
        self.lenient = lenient(request)
        self.taken_back: Ranked | None = None
        """The node that was taken without a look through its tier: an excluded one, or one in a reservation."""

    def answer(self) -> Placed | Provision | None:
        """What is reserved for it comes first."""
        if self.request.role == "backup" and any(self.request.forbid):
            found = self._reserved(compliant=True) or self._walk(compliant=True)
            if found is not None:
                return found
        return self._reserved(compliant=False) or self._walk(compliant=False)

    def _reserved(self, *, compliant: bool) -> Placed | None:
        """The best place in a reservation that is meant for this request; an exclusion that may be waived is."""
        asked, found = self.lenient, list[tuple[Ranked, Part, TierPolicy]]()
        for part in parts(asked, self.fleet):
            tier = next((tier for tier in self.policy.tiers if tier.name == part.node.tier), None)
            if tier is None or refusal(asked, part.node, self.finder.scene(tier)) is not None:
                continue
            entry = ranked(asked, part.node, self.finder.scene(tier), self.policy.ranking)
            if not (compliant and entry.violated):
                found.append((entry, part, tier))
        if not found:
            return None
        best, part, tier = min(found, key=lambda one: (*best_first(one[0]), one[1].inside))
        self.taken_back = best
        atoms = self._atoms(part.node, tier)
        return Placed(best.node, tier.name, best.violated, atoms, part.inside)

    def _walk(self, *, compliant: bool) -> Placed | Provision | None:
        """The first tier that has a node or can start one."""
        for tier in self.policy.tiers:
            best = self.finder.best(tier, compliant=compliant)
            if best is not None:
                return self._placed(best, tier)
            machine = self.finder.machine(tier) if tier.elastic else ""
            if isinstance(machine, Machine) and not (compliant and machine.violated):
                fresh = Provision(tier.name, machine.shape, machine.zones, machine.violated)
                return self._once_more(compliant=compliant) or fresh
        return self._once_more(compliant=compliant)

    def _once_more(self, *, compliant: bool) -> Placed | None:
        """The excluded nodes that get a second chance before a machine is started or the answer is no."""
        for tier in self.policy.tiers if self.chances else ():
            nodes = nodes_named(self.chances, self.fleet, self.request.pool, tier)
            kept = survivors(self.lenient, nodes, self.finder.scene(tier), self.policy.ranking, compliant=compliant)
            if kept:
                self.taken_back = choose(kept, self.policy.ranking, self.seed)
                return self._placed(self.taken_back, tier)
        return None

    def _placed(self, best: Ranked, tier: TierPolicy) -> Placed:
        node = self.fleet.node(best.node)
        assert node is not None
        if self.request.lease:
            return Placed(best.node, tier.name, best.violated, leased(node))
        return Placed(best.node, tier.name, best.violated, self._atoms(node, tier))

    def _atoms(self, node: NodeView, tier: TierPolicy) -> tuple[Granted, ...]:
        if not self.request.want:
            return ()
        plugins = self.finder.scene(tier).plugins
        return granted(self.request, node, binpack=tier.packing == "binpack", plugins=plugins)


def nodes_named(names: Iterable[str], fleet: FleetView, pool: str, tier: TierPolicy) -> list[NodeView]:
    found = (fleet.node(name) for name in names)
    return [node for node in found if node is not None and node.pool == pool and node.tier == tier.name]


def survivors(
    request: Request, nodes: Iterable[NodeView], scene: Scene, ranking: Ranking, *, compliant: bool
) -> list[Ranked]:
    """What the filters keep, the best first."""
    kept = [ranked(request, node, scene, ranking) for node in nodes if refusal(request, node, scene) is None]
    return sorted((entry for entry in kept if not (compliant and entry.violated)), key=best_first)


def ranked(request: Request, node: NodeView, scene: Scene, ranking: Ranking) -> Ranked:
    return Ranked(node.name, node.tier, key_of(ranking, request, node, scene), violations(request, node))


def best_first(entry: Ranked) -> tuple[tuple[int, ...], str]:
    return tuple(-value for value in entry.key), entry.node


def choose(candidates: list[Ranked], ranking: Ranking, seed: Seed) -> Ranked:
    """The best, or one drawn among the first top_n that equal it on all levels but the last."""
    if ranking.top_n == 1:
        return candidates[0]
    equals = equal_first(candidates, ranking)
    return equals[draw(seed, len(equals))]


def equal_first(candidates: list[Ranked], ranking: Ranking) -> list[Ranked]:
    """Those of the first top_n that equal the best one on all levels but the last."""
    return [entry for entry in candidates[: ranking.top_n] if entry.key[:-1] == candidates[0].key[:-1]]


def lenient(request: Request) -> Request:
    """The request with its second chances taken: those nodes are excluded no longer."""
    if not request.second_chance:
        return request
    excluded = {name: why for name, why in request.excluded.items() if name not in request.second_chance}
    return replace(request, excluded=excluded)
