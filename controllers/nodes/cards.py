"""The devices of a node as they count for placement: a sick one at once, one that is well again after a while."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resources.allocation import Allocation
from resources.devices import WHOLE, Device
from resources.facts import NodeFacts
from resources.node import Gpu, NodeStatus
from resources.pool import Health, PoolSpec
from resources.windows import Hold, held_at

GPU = "gpu"
REMEMBERED_SECONDS = 86400.0


def counted(
    facts: NodeFacts | None, before: Sequence[Device], status: NodeStatus, pool: PoolSpec | None, now: float
) -> tuple[tuple[Device, ...], dict[str, float], float | None]:
    """Devices as they count, since when those that must prove themselves are well, and when to look again.

    `before` is how they counted until now. A device that was never seen sick counts from the first report on; one that
    was is remembered for a day when it is not listed any more, and has to prove itself from its return on.
    """
    if facts is None:
        return (), {}, None
    patience = (Health() if pool is None else pool.health).device_stable_ms / 1000
    listed_before = {device.id for device in before}
    since = {name: well for name, well in status.devices_well_since.items() if now - well < REMEMBERED_SECONDS}
    away = {name: well for name, well in since.items() if name not in listed_before}
    sick_before = {device.id for device in before if not device.healthy} | away.keys()
    found: list[Device] = []
    proving: dict[str, float] = {}
    for device in facts.inventory.devices:
        if device.healthy and device.id in sick_before:
            well = now if device.id in away else since.get(device.id, now)
            if now < well + patience:
                proving[device.id] = well
                found.append(replace(device, healthy=False))
                continue
        found.append(device)
    look = min((well + patience for well in proving.values()), default=None)
    gone = sick_before - {device.id for device in found}
    return tuple(found), {**{name: since.get(name, now) for name in sorted(gone)}, **proving}, look


def next_turn(allocations: Sequence[Allocation], now: float) -> float | None:
    """When the next booking begins or ends."""
    turns = (at for one in allocations if one.timed for at in (one.starts_at, one.ends_at))
    return min((at for at in turns if at is not None and at > now), default=None)


def gpus(devices: Sequence[Device], allocations: Sequence[Allocation], now: float) -> tuple[Gpu, ...]:
    """Bookings that have not begun hold nothing yet."""
    claimed: dict[str, list[Hold]] = {}
    for allocation in allocations:
        for booking in allocation.devices:
            claimed.setdefault(booking.device, []).append(allocation.hold(booking.units, now))
    cards = [device for device in devices if device.kind == GPU]
    return tuple(
        Gpu(
            index=index,
            id=card.id,
            model=card.attributes.get("gpuModel") or card.attributes.get("gpuProduct"),
            healthy=card.healthy,
            reserved=held_at(claimed.get(card.id, ()), now) / WHOLE,
        )
        for index, card in enumerate(cards)
    )
