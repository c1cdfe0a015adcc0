"""Whether this node takes a start: what it has against what its living instances hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.errors import NO_CAPACITY, NO_RUNTIME, PORT_TAKEN, Refusal
from agent.order import Order
from resources.quantities import plain


@dataclass(frozen=True)
class Room:
    """What this node has for jobs. Capacity in thousandths of a vCPU, memory in MiB."""

    capacity_milli: int
    cores: int
    memory_mib: int


def admit(order: Order, room: Room, alive: Sequence[Order]) -> None:
    """Raises Refusal."""
    if order.image:
        raise Refusal(NO_RUNTIME, f"image {order.image}: this node has no container engine")
    for name, asked, total, used in (
        ("vcpu", order.capacity_milli, room.capacity_milli, sum(o.capacity_milli for o in alive)),
        ("cores", order.cores * 1000, room.cores * 1000, sum(o.cores for o in alive) * 1000),
        ("MiB", order.memory_mib * 1000, room.memory_mib * 1000, sum(o.memory_mib for o in alive) * 1000),
    ):
        if asked > total - used:
            raise Refusal(NO_CAPACITY, f"{plain(total - used)} of {plain(asked)} {name} free")
    claimed = {port: other.job for other in alive for port in other.ports}
    for port in order.ports:
        if port in claimed:
            raise Refusal(PORT_TAKEN, f"{port} is declared by {claimed[port]}")
