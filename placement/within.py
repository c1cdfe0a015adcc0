"""A node as it is within a reservation: what that holds there, less what jobs have taken of it already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from placement.amounts import NOTHING, Amounts
from placement.bookings import Inside
from placement.filters import DEDICATED
from placement.fleet import FleetView
from placement.node import Claim, NodeView
from placement.request import Request

CORDONED = "cordoned"


class Part(NamedTuple):
    """What a reservation holds on one node, as a node of its own to place a job on."""

    node: NodeView
    inside: Inside


def parts(request: Request, fleet: FleetView) -> Iterator[Part]:
    """Of the reservations that are meant for this request, as far as they have begun and it asks for what they hold."""
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in fleet.held_for(request.holders) if request.holders else ():
        if claim.reservation is not None and _active(claim, request.start):
            groups.setdefault((claim.reservation, claim.node), []).append(claim)
    for (reservation, name), own in groups.items():
        node = fleet.node(name)
        if node is not None and node.pool == request.pool and _uses(request, own):
            ends = [claim.end for claim in own if claim.end is not None]
            called = own[0].owner.rpartition("/")[2]
            inside = Inside(reservation, called, min(ends, default=None), own[0].tenant)
            yield Part(part(request, node, own, inside), inside)


def part(request: Request, node: NodeView, own: Sequence[Claim], inside: Inside) -> NodeView:
    """The node without the reservation, and no more of it than the reservation holds of anything that it holds at all.

    Others that are still there when they should have gone are in the way.
    """
    names = {claim.allocation for claim in own}
    rest = {name: claim for name, claim in node.claims.items() if name not in names}
    bare = node.with_claims(rest).over(replace(request, end=inside.end))
    mates = [
        claim
        for claim in rest.values()
        if claim.inside and claim.reservation == inside.reservation and claim.overlaps(request.start, inside.end)
    ]
    held, taken = _sum(own), _sum(mates)
    most = [used + has - gone for used, has, gone in zip(bare.used, held, taken, strict=True)]
    capacity = Amounts(
        *(min(all_, limit) if has else all_ for all_, limit, has in zip(bare.capacity, most, held, strict=True))
    )
    free = bare.free_units
    if node.board is not None and any(claim.devices for claim in own):
        units = dict.fromkeys(node.board.ids, 0)
        for claims, sign in ((own, 1), (mates, -1)):
            for atom, some in (device for claim in claims for device in claim.devices):
                units[atom] = units.get(atom, 0) + sign * some
        free = tuple(min(there, units[atom]) for atom, there in zip(node.board.ids, free, strict=True))
    lease = any(claim.exclusive for claim in own)
    closed = [reason for reason in node.no_schedule if not _tolerated(reason, inside.tenant, lease=lease)]
    return bare.like(capacity=capacity, free_units=free, claims=node.claims, timed=False, no_schedule=tuple(closed))


def _tolerated(reason: str, tenant: str | None, *, lease: bool) -> bool:
    """Its reservation's dedication; and a node that somebody has leased as a whole is closed to all others anyway."""
    return reason == f"{DEDICATED}{tenant}" or (lease and reason == CORDONED)


def _active(claim: Claim, now: float | None) -> bool:
    if now is None:
        return claim.start is None
    return (claim.start is None or claim.start <= now) and (claim.end is None or now < claim.end)


def _uses(request: Request, own: Sequence[Claim]) -> bool:
    """Whether it asks for anything that is held."""
    wants_devices = request.want is not None and any(claim.devices for claim in own)
    return wants_devices or any(want and has for want, has in zip(request.asked, _sum(own), strict=True))


def _sum(claims: Sequence[Claim]) -> Amounts:
    total = NOTHING
    for claim in claims:
        total = total.plus(claim.amounts)
    return total
