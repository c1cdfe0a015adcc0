"""Allocations and devices as the placer sees them."""

from __future__ import annotations

from collections.abc import Sequence

from placement import Amounts, Atom, Board, Claim, board
from resources.allocation import Allocation
from resources.devices import Device


def seen(allocation: Allocation) -> Claim:
    """An allocation as the placer sees it."""
    return Claim(
        allocation=allocation.id,
        owner=f"{allocation.owner.project}/{allocation.owner.name}",
        node=allocation.node,
        amounts=Amounts(allocation.capacity_milli, allocation.cores, allocation.memory_mib),
        ports=allocation.ports,
        exclusive=allocation.exclusive,
        tenant=allocation.tenant,
        devices=tuple((booking.device, booking.units) for booking in allocation.devices),
        start=None if allocation.owner.kind == "job" else allocation.starts_at,
        end=allocation.ends_at,
    )


def board_of(devices: Sequence[Device]) -> Board | None:
    """A node's devices as the placer sees them; None where it has none."""
    if not devices:
        return None
    positions: dict[str, int] = {}
    atoms = []
    for device in devices:
        at = positions[device.kind] = positions.get(device.kind, -1) + 1
        attributes = tuple(sorted(device.attributes.items()))
        told = (attributes, device.numa, device.healthy, device.bookable, device.parent)
        atoms.append(Atom(device.id, device.kind, *told, at))
    return board(atoms, {(device.id, other): word for device in devices for other, word in device.links.items()})
