"""What a request without a place has to know of the reservations that are meant for it."""

from __future__ import annotations

from placement.filters import refusal
from placement.fleet import FleetView
from placement.policy import PoolPolicy
from placement.request import Request
from placement.scene import scene_of
from placement.within import parts
from resources.instants import rfc3339


def own_reservations(request: Request, fleet: FleetView, policy: PoolPolicy) -> str:
    """`; in its reservation night on n1: 0 of 4 gpu free`, or when the next one begins; "" where there is none."""
    tiers = {tier.name: tier for tier in policy.tiers}
    for part in parts(request, fleet):
        tier = tiers.get(part.node.tier)
        found = refusal(request, part.node, scene_of(request, fleet, tier, policy.plugins)) if tier else None
        if found is not None:
            return f"; in its reservation {part.inside.name} on {part.node.name}: {found.text}"
    now = request.start or 0.0
    claims = fleet.held_for(request.holders) if request.holders else ()
    later = [(one.start, one.owner.rpartition("/")[2]) for one in claims if one.start is not None and one.start > now]
    if not later:
        return ""
    start, name = min(later)
    return f"; its reservation {name} begins at {rfc3339(start)}"
