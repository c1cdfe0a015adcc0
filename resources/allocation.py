"""Allocations: capacity, ports and devices of a node claimed for one instance of a job, or for a reservation."""

from __future__ import annotations

from dataclasses import dataclass

from resources.devices import Booking
from resources.reference import Ref


@dataclass(frozen=True)
class Allocation:
    """Identity `id` is derived: job uid and instance id. Capacity in thousandths of a vCPU, memory in MiB."""

    id: str
    uid: str
    """uid of the job"""
    owner: Ref
    instance: str
    pool: str
    node: str
    capacity_milli: int
    cores: int = 0
    memory_mib: int = 0
    ports: tuple[str, ...] = ()
    exclusive: bool = False
    devices: tuple[Booking, ...] = ()
    starts_at: float | None = None
    """When its bookings begin; unix seconds, None for one without devices."""
    ends_at: float | None = None
    """When they end; None: when it is released."""
    tenant: str | None = None
    lease: bool = False
    """Of the node as a whole: what keeps others away does not keep it away."""
