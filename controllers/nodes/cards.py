"""The devices of a node as they count for placement: a sick one at once, one that is well again after a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resources.allocation import Allocation
from resources.devices import WHOLE, Device
from resources.facts import NodeFacts
from resources.node import Gpu, NodeStatus
from resources.pool import Health, PoolSpec

GPU = "gpu"


def counted(
    facts: NodeFacts | None, before: Sequence[Device], status: NodeStatus, pool: PoolSpec | None, now: float
) -> tuple[tuple[Device, ...], dict[str, float], float | None]:
    """Devices as they count, since when those that must prove themselves are well, and when to look again.

    `before` is how they counted until now. A device that was never seen sick counts from the first report on.
    """
    if facts is None:
        return (), {}, None
    patience = (Health() if pool is None else pool.health).device_stable_ms / 1000
    sick_before = {device.id for device in before if not device.healthy}
    since = dict(status.devices_well_since)
    found: list[Device] = []
    proving: dict[str, float] = {}
    for device in facts.inventory.devices:
        if device.healthy and device.id in sick_before:
            well = since.get(device.id, now)
            if now < well + patience:
                proving[device.id] = well
                found.append(replace(device, healthy=False))
                continue
        found.append(device)
    look = min((well + patience for well in proving.values()), default=None)
    return tuple(found), proving, look


def next_begin(allocations: Sequence[Allocation], now: float) -> float | None:
    """When the next booking of devices begins."""
    begins = (one.starts_at for one in allocations if one.devices and one.starts_at is not None)
    return min((at for at in begins if at > now), default=None)


def gpus(devices: Sequence[Device], allocations: Sequence[Allocation], now: float) -> tuple[Gpu, ...]:
    """Bookings that have not begun hold nothing yet."""
    claimed: dict[str, int] = {}
    begun = [one for one in allocations if one.starts_at is None or one.starts_at <= now]
    for booking in (booking for allocation in begun for booking in allocation.devices):
        claimed[booking.device] = claimed.get(booking.device, 0) + booking.units
    cards = [device for device in devices if device.kind == GPU]
    return tuple(
        Gpu(
            index=index,
            id=card.id,
            model=card.attributes.get("gpuModel") or card.attributes.get("gpuProduct"),
            healthy=card.healthy,
            reserved=claimed.get(card.id, 0) / WHOLE,
        )
        for index, card in enumerate(cards)
    )
