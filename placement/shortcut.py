"""The quick plan: the answer that the full one gives, found through the pool's index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from placement.answers import Plan, Ranked, Unschedulable
from placement.cascade import Cascade, Seed, best_first, choose, nodes_named, survivors
from placement.classes import BucketKey, NodeClass
from placement.filters import refusal
from placement.fleet import FleetView
from placement.machines import Machine, machine_for
from placement.policy import PoolPolicy, TierPolicy
from placement.request import Request
from placement.scene import Scene, scene_of
from placement.sentence import MOST_REASONS, NO_NODES, ordered, refused_by
from placement.standing import Standing, Standings, standings
from placement.survey import STRAY, last_word, plan
from placement.tally import Reasons, by_hand, tally_of
from placement.unfit import Unfit

if TYPE_CHECKING:
    from placement.calendar import Calendar
    from placement.timed import Timed


def place(request: Request, fleet: FleetView, policy: PoolPolicy, *, seed: Seed = None, first: int = 0) -> Plan:
    """What `plan` answers, found fast: the first few of ranked, the most common reasons, no rejections, no tiers.

    With an answer other than no, reasons are told only where ranked nodes are asked for.
    """
    by_tenant = request.tenant is not None and policy.ranking.by_tenant
    if policy.archived or request.pin is not None or by_tenant or _need_every_node(request, policy):
        return plan(request, fleet, policy, seed=seed)
    search = Search(request, fleet, policy, seed)
    cascade = Cascade(request, fleet, policy, seed, search)
    done = _told(cascade, search, first)
    if search.unfit is not None and search.unfit.taken:
        search.index.pass_over(request.asked_ports, search.unfit.blocked)
    return done


def _told(cascade: Cascade, search: Search, first: int) -> Plan:
    answer, policy = cascade.answer(), cascade.policy
    nodes, levels = len(search.index.members), policy.ranking.names
    if answer is None:
        refused = search.refused(cascade, final=True)
        reason = refused_by(refused, nodes) if nodes else NO_NODES
        return Plan(Unschedulable(reason), nodes, refused=refused, levels=levels)
    if not first:
        return Plan(answer, nodes, levels=levels)
    told = search.ranked(first)
    if cascade.taken_back is not None:
        told = [entry for entry in told if entry.node != cascade.taken_back.node]
        told.append(cascade.taken_back)
    return Plan(answer, nodes, tuple(told[:first]), refused=search.refused(cascade, final=False), levels=levels)


def _need_every_node(request: Request, policy: PoolPolicy) -> bool:
    """Scorers and pickers can tell any two nodes apart; filters only remove some."""
    kinds = () if request.want is None else request.want.kinds
    return any(
        plugin.scorers or plugin.admit is not None or not plugin.pickers.keys().isdisjoint(kinds)
        for plugin in policy.plugins
    )


class Search:
    """Looks through a tier class by class; nodes that are special to the request are looked at one by one."""

    def __init__(self, request: Request, fleet: FleetView, policy: PoolPolicy, seed: Seed) -> None:
        self.request = request
        self.fleet = fleet
        self.policy = policy
        self.seed = seed
        self.index = fleet.index(request.pool)
        self.shelf = self.index.shelf(request)
        self.around = scene_of(request, fleet, STRAY, policy.plugins)
        self.looked_at: dict[str, TierPolicy] = {}
        self._scenes: dict[str, Scene] = {}
        shifting = self.index.timed if request.exclusive or request.lease else self.index.odd
        self.special = request.forbid.nodes.union(fleet.nodes_of(request.owner), shifting)
        self.asked: tuple[int, ...] = request.asked
        self.timed: Timed | None = None
        if request.want is not None:
            self.asked += request.want.units
            if self.shelf.calendar is not None:
                self.special |= self.shelf.calendar.odd
                self.timed = _timed(self.shelf.calendar, request)
        strangers = (name for owner in request.separate for name in fleet.nodes_of(owner))
        self.skip = self.special.union(request.excluded, strangers)
        ports = () if self.shelf.ports else request.asked_ports
        filters = self.around.plugins
        apart = self.skip or ports or filters is not None
        index = self.index
        self.unfit = Unfit(request, self.skip, ports, index.holding, index.members, filters) if apart else None

    def best(self, tier: TierPolicy, *, compliant: bool) -> Ranked | None:
        self.looked_at[tier.name] = tier
        top_n = self.policy.ranking.top_n
        found = self._kept(tier, compliant=compliant, only_best=top_n == 1)
        if top_n == 1:
            return next(found, None)
        kept = list(islice(found, top_n))
        return choose(kept, self.policy.ranking, self.seed) if kept else None

    def ranked(self, first: int) -> list[Ranked]:
        """The first few of what the filters keep in the tiers that were looked at."""
        tiers = (tier for tier in self.policy.tiers if tier.name in self.looked_at)
        return list(islice((entry for tier in tiers for entry in self._kept(tier, compliant=False)), first))

    def refused(self, cascade: Cascade, *, final: bool) -> dict[str, int]:
        """The most common reasons: of all nodes for a no, else of those that are refused in the tiers looked at."""
        reasons = Reasons(self.request, self.around, self.policy, None if final else frozenset(self.looked_at))
        friends = (name for owner in self.request.allies for name in self.fleet.nodes_of(owner))
        apart = self.skip.union(friends, self.around.group or ())
        if cascade.taken_back is not None:
            apart = apart.union((cascade.taken_back.node,))
        asking = self.unfit is not None and self.unfit.filters is not None
        said = Counter[str]()
        if self.timed is not None and asking:
            apart = apart.union(self.timed.calendar.names)
        elif self.timed is not None:
            said.update(self.timed.refused(reasons, apart))
        for name in apart & self.index.members.keys():
            text = self._last_word(name, cascade) if final else self._word(name, cascade)
            if text is not None:
                said[text] += 1
        if self.unfit is not None and asking:
            said.update(by_hand(reasons, self.shelf, apart, self.unfit))
            return dict(islice(ordered(+said).items(), MOST_REASONS))
        for name in apart & self.shelf.where.keys():
            home = self.shelf.where[name]
            reason = reasons.of(*home) if reasons.counts(home[0]) else None
            if reason is not None:
                said[reason] -= 1
        if self.unfit is not None:
            said.update(self._ports_in_the_way(reasons, apart))
        return tally_of(reasons, self.shelf).first(said, MOST_REASONS)

    def _ports_in_the_way(self, reasons: Reasons, apart: frozenset[str]) -> Counter[str]:
        """What changes in the counts by ports that the shelf does not know."""
        assert self.unfit is not None
        said: Counter[str] = Counter()
        for name in self.unfit.with_a_port_taken() - apart:
            group, key = self._home(name)
            if reasons.counts(group) and reasons.early(group) is None and reasons.short(key) is None:
                reason = reasons.of(group, key)
                if reason is not None:
                    said[reason] -= 1
                said[str(self.unfit.port(name))] += 1
        return said

    def _home(self, name: str) -> tuple[NodeClass, BucketKey]:
        found = None if self.timed is None else self.timed.home(name)
        return self.shelf.where[name] if found is None else found

    def _last_word(self, name: str, cascade: Cascade) -> str:
        return last_word(self.index.members[name], cascade, self.around).text

    def _word(self, name: str, cascade: Cascade) -> str | None:
        node = self.index.members[name]
        tier = self.looked_at.get(node.tier)
        if tier is None or (cascade.taken_back is not None and cascade.taken_back.node == name):
            return None
        found = refusal(self.request, node, self.scene(tier))
        return None if found is None else found.text

    def _kept(self, tier: TierPolicy, *, compliant: bool, only_best: bool = False) -> Iterator[Ranked]:
        scene, ranking = self.scene(tier), self.policy.ranking
        names = self.special if scene.group is None else scene.group
        kept: list[Ranked] = []
        if names:
            nodes = nodes_named(names, self.fleet, self.request.pool, tier)
            kept = survivors(self.request, nodes, scene, ranking, compliant=compliant)
        if scene.group is not None:
            return iter(kept)
        look = self._top if only_best else self._in_order
        found = [look(scene, compliant=compliant)]
        if kept:
            found.append(iter(kept))
        if self.timed is not None:
            classes = standings(self.request, scene, ranking, self.index)
            found.append(self.timed.ranked(classes, self.asked, tier, self.unfit, compliant=compliant))
        return merge(*found, key=best_first) if len(found) > 1 else found[0]

    def machine(self, tier: TierPolicy) -> Machine | str:
        capped = self.policy.provisioning and tier.max_nodes is not None
        nodes = self.index.nodes_in(tier.name) if capped else 0
        return machine_for(self.request, self.scene(tier), self.policy, nodes)

    def scene(self, tier: TierPolicy) -> Scene:
        found = self._scenes.get(tier.name)
        if found is None:
            found = self._scenes[tier.name] = self.around._replace(tier=tier)
        return found

    def _top(self, scene: Scene, *, compliant: bool) -> Iterator[Ranked]:
        """The best node of the tier, special ones apart; nothing if none fits."""
        asked, binpack = self.asked, scene.tier.packing == "binpack"
        ranks = standings(self.request, scene, self.policy.ranking, self.index)
        best: tuple[Standing, int, str] | None = None
        key: tuple[int, ...] = ()
        """That of the best, as soon as it is held against a class of another kind."""
        for standing in ranks.classes:
            alike = best is not None and standing.fixed is best[0].fixed
            if best is not None and not alike:
                key = key or ranks.key(best[0], best[1])
                if standing.bound < key:
                    break
            shelf = self.shelf.classes.get(standing.group)
            if shelf is None or (compliant and standing.violated):
                continue
            at_least = best[1] if best is not None and alike else 0
            found = shelf.first(asked, self.unfit, binpack=binpack, blend=ranks.blend, at_least=at_least)
            if found is None:
                continue
            if best is None:
                best = (standing, *found)
            elif alike:
                if found[0] > best[1] or found[1] < best[2]:
                    best, key = (standing, *found), ()
            else:
                rival = ranks.key(standing, found[0])
                if rival > key or (rival == key and found[1] < best[2]):
                    best, key = (standing, *found), rival
        if best is not None:
            yield Ranked(best[2], scene.tier.name, key or ranks.key(best[0], best[1]), best[0].violated)

    def _in_order(self, scene: Scene, *, compliant: bool) -> Iterator[Ranked]:
        """The nodes of the tier that fit, special ones apart, the best first."""
        request, tier = self.request, scene.tier
        classes = standings(request, scene, self.policy.ranking, self.index)
        rows = []
        for standing in classes.classes:
            shelf = self.shelf.classes.get(standing.group)
            if shelf is not None and not (compliant and standing.violated):
                binpack = tier.packing == "binpack"
                found = shelf.ranked(self.asked, self.unfit, binpack=binpack, blend=classes.blend)
                rows.append(_row(tier, classes, standing, found))
        return merge(*rows, key=best_first)


def _timed(calendar: Calendar, request: Request) -> Timed:
    from placement.timed import Timed  # noqa: PLC0415  numpy is for those who book for a time

    return Timed(calendar, request)


def _row(
    tier: TierPolicy, classes: Standings, standing: Standing, found: Iterator[tuple[int, str]]
) -> Iterator[Ranked]:
    for packing, name in found:
        yield Ranked(name, tier.name, classes.key(standing, packing), standing.violated)
