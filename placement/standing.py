"""How the classes of an index rank for one kind of request, worked out once as long as the classes stay the same."""

from __future__ import annotations

from typing import NamedTuple

from placement.blend import DYNAMIC, Blend, blend_of
from placement.classes import NodeClass, State
from placement.filters import asked_label, reserved, schedulable, zone
from placement.fullness import SCALE
from placement.index import PoolIndex
from placement.levels import CRITERIA, violations
from placement.node import NodeView
from placement.ranking import Ranking
from placement.request import Request
from placement.scene import Scene
from placement.wording import printed

MOST_KEPT = 512


class Standing(NamedTuple):
    """One class: the key of a node in it is `fixed` plus what its measure adds.

    Classes that differ in nothing else share the very object `fixed`.
    """

    bound: tuple[int, ...]
    """The key of a node that packs perfectly."""
    fixed: tuple[int, ...]
    violated: tuple[str, ...]
    group: NodeClass


class Standings(NamedTuple):
    """The classes that may take the request, the most promising first."""

    packing: tuple[int, ...]
    """The weight of packing in each level."""
    classes: tuple[Standing, ...]
    blend: Blend | None = None
    """Set where topology speaks too; a measure is a blend of both then, else it is that of packing."""

    def key(self, standing: Standing, measure: int) -> tuple[int, ...]:
        if self.blend is not None:
            return tuple([part + more for part, more in zip(standing.fixed, self.blend.parts(measure), strict=True)])
        return tuple([part + weight * measure for part, weight in zip(standing.fixed, self.packing, strict=True)])


def standings(request: Request, scene: Scene, ranking: Ranking, index: PoolIndex) -> Standings:
    """Of a tier's classes, for the node of a request that is special to it in no way."""
    kind = (
        scene.tier.name,
        ranking,
        tuple(request.labels.items()),
        request.tenant,
        request.template,
        request.override_reservation,
        request.exclusive,
        request.spare,
        request.images,
        request.forbid[1:] if request.role == "backup" else None,
        request.same_zone,
        frozenset(zones for _, zones in scene.zones),
        request.want is not None,
        request.lease,
    )
    found: Standings | None = index.standings.get(kind)
    if found is None:
        found = _work_out(request, scene, ranking, index)
        if len(index.standings) >= MOST_KEPT:
            index.standings.clear()
        index.standings[kind] = found
    return found


def _work_out(request: Request, scene: Scene, ranking: Ranking, index: PoolIndex) -> Standings:
    packing = tuple(sum(weight for name, weight in level if name == "packing") for level in ranking.levels)
    blend = blend_of(ranking) if request.want is not None else None
    moving = packing if blend is None else tuple(map(sum, blend.weights))
    able: list[Standing] = []
    same: dict[tuple[int, ...], tuple[int, ...]] = {}
    for group in index.classes:
        node = group.exemplar
        if node.tier == scene.tier.name and takes(request, scene, group):
            fixed = _fixed(ranking, request, node, scene)
            fixed = same.setdefault(fixed, fixed)
            bound = tuple(part + weight * SCALE for part, weight in zip(fixed, moving, strict=True))
            able.append(Standing(bound, fixed, violations(request, node), group))
    return Standings(packing, tuple(sorted(able, key=lambda standing: standing.bound, reverse=True)), blend)


def takes(request: Request, scene: Scene, group: NodeClass) -> bool:
    """Whether a stranger's request may go on a node of this class that has room."""
    if group.state is State.HELD or (request.exclusive and group.state is not State.EMPTY):
        return False
    return zone(request, group.exemplar, scene) is None and refused_at_once(request, scene, group) is None


def refused_at_once(request: Request, scene: Scene, group: NodeClass) -> str | None:
    """The reason that stands before any amount and is the same for the whole class, as it is printed."""
    for name, rule in (("schedulable", schedulable), ("reserved", reserved)):
        reason = rule(request, group.exemplar, scene)
        if reason is not None:
            return printed(name, reason)
    missing = next((pair for pair in request.labels.items() if pair not in group.matched), None)
    return printed("labels", asked_label(*missing)) if missing is not None else None


def _fixed(ranking: Ranking, request: Request, node: NodeView, scene: Scene) -> tuple[int, ...]:
    moving = DYNAMIC if request.want is not None else ("packing",)
    return tuple(
        sum(weight * CRITERIA[name](request, node, scene) for name, weight in level if name not in moving)
        for level in ranking.levels
    )
