"""Allocations: capacity, ports and devices of a node claimed for one instance of a job, or for a reservation."""

from __future__ import annotations

from dataclasses import dataclass

from resources.devices import Booking
from resources.reference import Ref
from resources.windows import Hold, lasting


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
    """When it begins to hold what it books; unix seconds, None for a job without devices."""
    ends_at: float | None = None
    """When it holds it no longer; None: when it is released. A job without a reservation has none."""
    tenant: str | None = None
    lease: bool = False
    """Of the node as a whole: what keeps others away does not keep it away."""
    holder: str | None = None
    """Of a reservation: whose jobs may take it, as PROJECT/BUNDLE or PROJECT/BUNDLE.ROLE.JOB."""
    inside: str | None = None
    """Of a job: the uid of the reservation that it takes its room from."""

    @property
    def reservation(self) -> str | None:
        """uid of the reservation that it is of, or within."""
        return self.uid if self.owner.kind == "reservation" else self.inside

    @property
    def timed(self) -> bool:
        """Whether its amounts are held for a window, and not simply for as long as it is there."""
        return self.reservation is not None or self.ends_at is not None

    def hold(self, amount: int, now: float | None = None) -> Hold:
        """An amount of it as it is held over time. With `now`, a job whose time is over is still there."""
        if not self.timed:
            return Hold(amount)
        inside = self.inside is not None
        end = lasting(self.ends_at, now) if inside else self.ends_at
        return Hold(amount, self.starts_at, end, self.reservation, inside)
