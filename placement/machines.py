"""Whether a tier may answer with a machine that does not exist yet, and which."""

from __future__ import annotations

from typing import NamedTuple

from placement.amounts import shortage
from placement.bookings import devices_on
from placement.filters import asked_label
from placement.levels import domains_broken
from placement.node import NodeView
from placement.policy import PoolPolicy, Shape
from placement.request import ANY_VALUE, Request
from placement.scene import Scene


class Machine(NamedTuple):
    """The first shape that would do, and the zones it may stand in."""

    shape: Shape
    zones: tuple[str, ...]
    violated: tuple[str, ...]


def machine_for(request: Request, scene: Scene, policy: PoolPolicy, nodes: int) -> Machine | str:
    """A machine for this request, or why this tier starts none. `nodes` counts those that the tier has."""
    tier = scene.tier
    if not tier.elastic:
        return "fixed"
    if request.pin is not None:
        return f"pinned to {request.pin}"
    if not policy.provisioning:
        return "not there yet"
    if scene.group is not None:
        return scene.group_reason
    problems = []
    if tier.max_nodes is not None and nodes >= tier.max_nodes:
        problems.append(f"at its cap, {nodes} of {tier.max_nodes} nodes")
    zones = _allowed_zones(request, scene)
    if zones is None:
        problems.append("no zone of it holds the job's peers")
    misfits = [misfit(request, shape) for shape in tier.shapes]
    if all(misfits):
        problems += [problem for problem in misfits if problem] or ["no instance type"]
    if problems or zones is None:
        return "; ".join(problems)
    shape = tier.shapes[misfits.index(None)]
    kind_only = request.forbid._replace(nodes=frozenset())
    if request.role != "backup" or not any(kind_only):
        return Machine(shape, zones, ())
    better = tuple(zone for zone in zones if zone not in request.forbid.zones)
    zone = better[0] if better else zones[0] if zones else None
    return Machine(shape, better or zones, domains_broken(request, None, zone, tier.kind))


def misfit(request: Request, shape: Shape) -> str | None:
    """Why a machine of this shape would not do, empty as it comes."""
    short = shortage(shape.capacity, request.asked)
    if short is not None:
        return f"{shape.instance_type} has {short.removesuffix(' free')}"
    if request.want is not None:
        empty = NodeView(name="", pool="", capacity=shape.capacity, board=shape.board)
        refused = devices_on(request, empty, binpack=True)
        if refused.filter:
            return f"{shape.instance_type} has {refused.reason.removesuffix(' free')}"
    for key, value in request.labels.items():
        found = shape.labels.get(key)
        if found is None or value not in (ANY_VALUE, found):
            return f"{shape.instance_type} lacks {asked_label(key, value)}"
    return None


def _allowed_zones(request: Request, scene: Scene) -> tuple[str, ...] | None:
    """The tier's zones that a hard zone rule leaves; () is any, None is none."""
    if request.same_zone != "hard" or not scene.zones:
        return scene.tier.zones
    wanted = frozenset.intersection(*(zones for _, zones in scene.zones))
    allowed = tuple(zone for zone in scene.tier.zones if zone in wanted) if scene.tier.zones else tuple(sorted(wanted))
    return allowed or None
