"""A booking that is made anew where it is: on its node, and on the devices that jobs use of it, as long as it fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.answers import Placed
from placement.bookings import granted, leased
from placement.filters import refusal
from placement.fleet import FleetView
from placement.gang import book, member
from placement.levels import violations
from placement.node import NodeView
from placement.policy import PoolPolicy
from placement.request import Request
from placement.scene import scene_of


class Seat(NamedTuple):
    """Where one member is: its devices, those first that it would rather keep."""

    node: str
    devices: tuple[str, ...] = ()
    kept: int = 0
    """How many of the devices are in use."""


def stay(request: Request, fleet: FleetView, policy: PoolPolicy, seats: Sequence[Seat]) -> tuple[Placed, ...]:
    """A place on its own node for each member; none at all where one has none there any more."""
    if len(seats) == 1:
        found = _on(request, seats[0], fleet, policy)
        return () if found is None else (found,)
    scratch = fleet.copy()
    members: list[Placed] = []
    for number, seat in enumerate(seats):
        found = _on(member(request, number), seat, scratch, policy)
        if found is None:
            return ()
        members.append(found)
        book(scratch, request, found, number)
    return tuple(members)


def _on(request: Request, seat: Seat, fleet: FleetView, policy: PoolPolicy) -> Placed | None:
    node = fleet.node(seat.node)
    tier = next((tier for tier in policy.tiers if node is not None and tier.name == node.tier), None)
    if node is None or tier is None or node.pool != request.pool:
        return None
    scene = scene_of(request, fleet, tier, policy.plugins)
    for view in _views(request, node, seat):
        if refusal(request, view, scene) is None:
            broken = violations(request, node)
            if request.lease:
                return Placed(node.name, tier.name, broken, leased(node))
            atoms = granted(request, view, binpack=tier.packing == "binpack", plugins=scene.plugins)
            return Placed(node.name, tier.name, broken, atoms)
    return None


def _views(request: Request, node: NodeView, seat: Seat) -> Iterator[NodeView]:
    """The node with only some of its devices free: those in use, more and more of the others, in the end all."""
    if request.want is not None and node.board is not None and not request.lease:
        bare = node.over(request)
        for most in range(max(seat.kept, 1), len(seat.devices) + 1):
            some = frozenset(seat.devices[:most])
            ids = node.board.ids
            free = tuple(units if name in some else 0 for name, units in zip(ids, bare.free_units, strict=True))
            yield bare.like(free_units=free)
    yield node
