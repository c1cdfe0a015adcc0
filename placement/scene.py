"""What one plan knows beside the node it looks at: the tier, and where the job's relatives are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from placement.fleet import FleetView
from placement.plugins import Plugin, Run
from placement.policy import TierPolicy
from placement.request import Request, spoken


class Scene(NamedTuple):
    """Gathered once a plan; filters and criteria read it and nothing else."""

    tier: TierPolicy
    group: frozenset[str] | None
    """Nodes that carry a placed member of the co-located group; None as long as no member is placed."""
    group_reason: str
    zones: tuple[tuple[str, frozenset[str]], ...]
    """Each placed peer with the zones it holds claims in."""
    near: frozenset[str]
    """Zones that hold any peer, as far as they have a name."""
    plugins: Run | None = None
    """None where there are none."""


def scene_of(request: Request, fleet: FleetView, tier: TierPolicy, plugins: Sequence[Plugin] = ()) -> Scene:
    group: set[str] = set()
    group_reason = ""
    for owner in sorted(request.together - {request.owner}):
        nodes = fleet.nodes_of(owner)
        if nodes and not group_reason:
            group_reason = f"{spoken(owner)} is on {nodes[0]}"
        group.update(nodes)
    peers = request.peers - {request.owner} if request.same_zone != "off" else ()
    zones = []
    for owner in sorted(peers):
        nodes_seen = (fleet.node(name) for name in fleet.nodes_of(owner))
        found = frozenset(node.zone for node in nodes_seen if node is not None)
        if found:
            zones.append((owner, found))
    near = frozenset(zone for _, found in zones for zone in found if zone)
    return Scene(
        tier,
        frozenset(group) if group_reason else None,
        group_reason,
        tuple(zones),
        near,
        Run(plugins) if plugins else None,
    )
