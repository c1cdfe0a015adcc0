"""Facts as values and as messages: one translation for both ends of the wire."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import get_args

from api.proto import agent_pb2 as wire
from resources.devices import CLASS, CLASSES, ID, IDS, Device
from resources.facts import Driver, Instance, InstanceState, Inventory, Nic

MOST_DEVICES = 256
"""What one node may list."""
MOST_NICS = 64
MOST_LABEL = 63
MOST_TEXT = 128
"""What is kept of a machine's words about itself; more is cut off."""
STATES: tuple[InstanceState, ...] = get_args(InstanceState)
TO_WIRE = {name: wire.State.Value(name.upper()) for name in STATES}
FROM_WIRE = {number: name for name, number in TO_WIRE.items()}


def instance_to_wire(facts: Instance) -> wire.Instance:
    message = wire.Instance(
        job_uid=facts.uid,
        job=facts.job,
        instance_id=facts.id,
        instance_key=facts.key,
        attempt=facts.attempt,
        state=TO_WIRE[facts.state],
        pid=facts.pid or 0,
        ports=facts.ports,
        started_at=facts.started_at or 0.0,
        ready_at=facts.ready_at or 0.0,
        at=facts.at,
        ran_seconds=facts.ran_seconds,
        reason=facts.reason,
        not_ready=not facts.ready,
        detail=facts.not_ready_detail,
    )
    if not facts.alive:
        message.exit.SetInParent()
        if facts.code is not None:
            message.exit.code = facts.code
        if facts.signal is not None:
            message.exit.signal = facts.signal
    return message


def instance_from_wire(message: wire.Instance, node: str, *, now: float) -> Instance:
    """`node` is whoever sent it. An instant ahead of `now` reads as `now`. Raises ValueError, naming the field."""
    state = FROM_WIRE.get(message.state)
    if state is None:
        raise ValueError(f"instance.state: {message.state} is not a state")
    for name in ("job_uid", "instance_id", "instance_key"):
        if not getattr(message, name):
            raise ValueError(f"instance.{name}: required")
    return Instance(
        uid=message.job_uid,
        id=message.instance_id,
        key=message.instance_key,
        node=node,
        attempt=message.attempt,
        state=state,
        pid=message.pid or None,
        ports=tuple(message.ports),
        code=message.exit.code if message.exit.HasField("code") else None,
        signal=message.exit.signal if message.exit.HasField("signal") else None,
        reason=message.reason,
        started_at=_instant("instance.started_at", message.started_at, now) or None,
        ready_at=_instant("instance.ready_at", message.ready_at, now) or None,
        at=_instant("instance.at", message.at, now),
        ran_seconds=max(0.0, _finite("instance.ran_seconds", message.ran_seconds)),
        ready=not message.not_ready,
        not_ready_detail=message.detail,
        job=message.job,
    )


def inventory_from_wire(message: wire.Inventory, agent_version: str) -> Inventory:
    """A utilization cap outside (0, 1] reads as 1. Raises ValueError, naming the field."""
    if message.capacity_milli <= 0 or message.cores < 0 or message.memory_mib < 0:
        raise ValueError("inventory: capacity must be above 0, cores and memory not below")
    cap = message.utilization_cap
    return Inventory(
        capacity_milli=message.capacity_milli,
        cores=message.cores,
        memory_mib=message.memory_mib,
        address=message.address,
        zone=message.zone,
        capabilities=tuple(message.capabilities),
        images=tuple(message.images),
        utilization_cap=cap if math.isfinite(cap) and 0 < cap <= 1 else 1.0,
        agent_version=agent_version,
        labels=dict(message.labels),
        devices=_devices(message.devices),
        machine_id=message.machine_id[:MOST_TEXT],
        nics=tuple(_nic(nic) for nic in message.nics[:MOST_NICS]),
        drivers=tuple(Driver(one.id, one.version[:MOST_LABEL], tuple(one.kinds)) for one in message.drivers),
    )


def device_to_wire(device: Device) -> wire.Device:
    message = wire.Device(
        id=device.id,
        attributes=device.attributes,
        unhealthy=not device.healthy,
        unbookable=not device.bookable,
        parent=device.parent or "",
        link_words=device.links,
        **{"class": device.kind},
    )
    if device.numa is not None:
        message.numa = device.numa
    return message


def _devices(messages: Iterable[wire.Device]) -> tuple[Device, ...]:
    found: dict[str, Device] = {}
    for message in messages:
        kind = getattr(message, "class")
        if not ID.fullmatch(message.id):
            raise ValueError(f"inventory.devices.id: {message.id!r} is not {IDS}")
        if not CLASS.fullmatch(kind):
            raise ValueError(f"inventory.devices.class: {kind!r} is not {CLASSES}")
        if message.id in found:
            raise ValueError(f'inventory.devices: "{message.id}" is listed twice')
        found[message.id] = Device(
            id=message.id,
            kind=kind,
            attributes=dict(message.attributes),
            healthy=not message.unhealthy,
            bookable=not message.unbookable,
            numa=message.numa if message.HasField("numa") else None,
            parent=message.parent or None,
            links=dict.fromkeys(message.links, "NV") | dict(message.link_words),
        )
    if len(found) > MOST_DEVICES:
        raise ValueError(f"inventory.devices: at most {MOST_DEVICES}")
    return tuple(found.values())


def _nic(message: wire.Nic) -> Nic:
    addresses = tuple(address[:MOST_TEXT] for address in message.addresses[:MOST_NICS])
    return Nic(message.name[:MOST_TEXT], addresses, max(message.speed_mbit, 0))


def _instant(field: str, value: float, now: float) -> float:
    return min(_finite(field, value), now)


def _finite(field: str, value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{field}: expected a finite number")
    return value
