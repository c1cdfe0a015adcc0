"""Allocations and devices as the placer sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from placement import Amounts, Atom, Board, Claim, NodeView, Spare, board
from placement.filters import DEDICATED, open_to_somebody
from resources.allocation import Allocation
from resources.devices import Device
from resources.node import NodeSpec, NodeStatus


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
        start=allocation.starts_at if allocation.timed else None,
        end=allocation.ends_at if allocation.timed else None,
        reservation=allocation.reservation,
        inside=allocation.inside is not None,
        holder=allocation.holder,
    )


def less_open(before: NodeView, after: NodeView) -> bool:
    """Whether nobody can go there who could not before: only its NoSchedule reasons differ, and they free no one.

    A whole-node lease asks about dedications alone.
    """
    if replace(before, no_schedule=after.no_schedule) != after:
        return False
    gone = set(before.no_schedule) - set(after.no_schedule)
    if not gone:
        return True
    return not open_to_somebody(after.no_schedule) and not any(reason.startswith(DEDICATED) for reason in gone)


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


def spare_of(spec: NodeSpec, status: NodeStatus) -> Spare | None:
    tag, known = spec.spare, status.spare
    if tag is None:
        return None
    return Spare(tag.reserved_for, tag.exclusive, consumed=known is not None and known.consumed)
