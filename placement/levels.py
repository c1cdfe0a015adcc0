"""The criteria that a ranking is made of: each measures one node from 0 to SCALE, higher is better.

Measures are whole numbers, so sums are exact and a plan comes out the same whichever way it was computed.
"""

# ruff: noqa: ARG001  every rule has the same signature, whatever it reads

from __future__ import annotations

from collections.abc import Callable

from placement.bookings import amounts_on, devices_on
from placement.fullness import SCALE, fullness
from placement.node import NodeView
from placement.ranking import Ranking
from placement.request import Request
from placement.scene import Scene

Criterion = Callable[[Request, NodeView, Scene], int]


def violations(request: Request, node: NodeView) -> tuple[str, ...]:
    """Flags of the resilience policy that this node would break; only a backup can break any."""
    if request.role != "backup":
        return ()
    return domains_broken(request, node.name, node.zone, node.cloud)


def domains_broken(request: Request, name: str | None, zone: str | None, cloud: str) -> tuple[str, ...]:
    """The same for a place described by its domains; None is a domain that is not known to be the primary's."""
    nodes, zones, clouds = request.forbid
    flags = (("sameNode", name in nodes), ("sameAz", zone in zones), ("sameCloud", cloud in clouds))
    return tuple(flag for flag, broken in flags if broken)


def resilience(request: Request, node: NodeView, scene: Scene) -> int:
    return (3 - len(violations(request, node))) * SCALE // 3


def booted(request: Request, node: NodeView, scene: Scene) -> int:
    return SCALE if node.booted else 0


def avoid_spare(request: Request, node: NodeView, scene: Scene) -> int:
    return 0 if request.spare == "avoid" and node.unconsumed_spare else SCALE


def warmth(request: Request, node: NodeView, scene: Scene) -> int:
    return len(request.images & node.images) * SCALE // len(request.images) if request.images else 0


def reservation(request: Request, node: NodeView, scene: Scene) -> int:
    if node.spare is None or request.template is None or not node.unconsumed_spare:
        return 0
    return SCALE if request.template in node.spare.reserved_for else 0


def prefer_spare(request: Request, node: NodeView, scene: Scene) -> int:
    return SCALE if request.spare == "prefer" and node.unconsumed_spare else 0


def packing(request: Request, node: NodeView, scene: Scene) -> int:
    """Fullness once placed, the mean over the resources asked for; its complement where the tier spreads."""
    if request.want is None:
        full = fullness(request.asked, node.used, node.capacity)
    else:
        used, has = amounts_on(request, node)
        full = fullness(request.asked + request.want.units, node.used + used, node.capacity + has)
    return full if scene.tier.packing == "binpack" else SCALE - full


def same_zone(request: Request, node: NodeView, scene: Scene) -> int:
    return SCALE if request.same_zone == "soft" and node.zone in scene.near else 0


def spread(request: Request, node: NodeView, scene: Scene) -> int:
    """Fewer live allocations of the same tenant."""
    mine = sum(claim.tenant == request.tenant for claim in node.claims.values()) if request.tenant is not None else 0
    return SCALE // (1 + mine)


def topology(request: Request, node: NodeView, scene: Scene) -> int:
    """The worst link of what would be picked; neutral where there is none to speak of, or one is not known."""
    return devices_on(request, node, binpack=scene.tier.packing == "binpack", plugins=scene.plugins).score


CRITERIA: dict[str, Criterion] = {
    "resilience": resilience,
    "booted": booted,
    "avoid_spare": avoid_spare,
    "warmth": warmth,
    "reservation": reservation,
    "prefer_spare": prefer_spare,
    "packing": packing,
    "same_zone": same_zone,
    "spread": spread,
    "topology": topology,
}


def key_of(ranking: Ranking, request: Request, node: NodeView, scene: Scene) -> tuple[int, ...]:
    """One weighted sum a level; the greater tuple is the better node, equal ones go by name."""
    node = node.over(request)
    return tuple(
        sum(weight * measured(name, request, node, scene) for name, weight in level) for level in ranking.levels
    )


def measured(name: str, request: Request, node: NodeView, scene: Scene) -> int:
    """By one criterion, built in or a plugin's."""
    rule = CRITERIA.get(name)
    if rule is not None:
        return rule(request, node, scene)
    return 0 if scene.plugins is None else scene.plugins.score(name, request, node)


def shares(ranking: Ranking, key: tuple[int, ...]) -> dict[str, float]:
    """A key as people read it: each level by name, from 0 to 1."""
    full = (SCALE * sum(weight for _, weight in level) for level in ranking.levels)
    return {name: round(value / most, 6) for name, value, most in zip(ranking.names, key, full, strict=True)}
