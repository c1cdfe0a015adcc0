"""Reservation: devices and amounts of a pool's nodes, held for a time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from resources.device_asks import DeviceAsk
from resources.frozen import Bool, Count, Frozen, Instant, Int, Text, Timestamp
from resources.instants import LAST, OUTSIDE
from resources.resource import Resource, Spec, Status

RESERVATION_FINALIZER = "rmctl/bookings"
LONGEST_SECONDS = 100 * 366 * 86400
Phase = Literal["pending", "booked", "active", "expired", "released"]


class Gang(Frozen):
    """So many members, each with all that is asked, near to each other by a label of their nodes if they can be."""

    size: Annotated[Int, Field(ge=2, le=256)]
    domain: Annotated[Text, Field(min_length=1, max_length=317)] = "fabric.domain"


class ReservedAmounts(Frozen):
    """Thousandths of a vCPU, MiB, whole cores."""

    vcpu_milli: Count = 0
    memory_mib: Annotated[Count, Field(alias="memoryMiB")] = 0
    cores: Count = 0


class ReservationSpec(Spec):
    """The window is half open. Without a start it begins with its booking; without an end it lasts until deleted."""

    pool: Annotated[Text, Field(min_length=1)]
    holder: Text | None = None
    tenant: Text | None = None
    devices: Annotated[tuple[DeviceAsk, ...], Field(max_length=8)] = ()
    amounts: ReservedAmounts = ReservedAmounts()
    start: Timestamp | None = None
    end: Timestamp | None = None
    duration_seconds: Annotated[Int, Field(ge=1, le=LONGEST_SECONDS)] | None = None
    gang: Gang | None = None
    whole_node: Bool = False
    binding: Literal["host", "node", "kubernetes"] = "host"
    preemptible: Bool = False
    preempts: Bool = False
    idempotency_key: Annotated[Text, Field(min_length=1, max_length=255)] | None = None

    @model_validator(mode="after")
    def _something(self) -> ReservationSpec:
        amounts = self.amounts
        if not (self.devices or self.lease or amounts.vcpu_milli or amounts.memory_mib or amounts.cores):
            raise ValueError("devices: ask for at least one device or amount, or set wholeNode: true")
        if self.end is not None and self.duration_seconds is not None:
            raise ValueError("durationSeconds: end is given too; one of the two")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError("end: must be after start")
        if self.start is not None and self.start + (self.duration_seconds or 0) > LAST:
            raise ValueError(f"durationSeconds: the end {OUTSIDE}")
        if self.preemptible and self.preempts:
            raise ValueError("preempts: a preemptible reservation takes nothing from others")
        return self

    @property
    def lease(self) -> bool:
        """Whether it takes nodes as a whole."""
        return self.whole_node or self.binding == "node"


class HeldDevice(Frozen):
    """A device that is held whole, or `units` thousandths of it."""

    id: str
    units: int = 1000


class Held(Frozen):
    """What is held on one node."""

    node: str
    devices: tuple[HeldDevice, ...] = ()
    amounts: ReservedAmounts = ReservedAmounts()


class ReservationStatus(Status):
    phase: Phase = "pending"
    allocations: tuple[Held, ...] = ()
    start: Instant | None = None
    end: Instant | None = None
    victims: tuple[str, ...] = ()
    """Reservations that would have to go for this one to fit."""
    starts_at: Instant | None = None
    """From when it would have its place without them."""
    booked_generation: int = 0
    """Generation of the spec that the bookings follow."""
    waiting_since: Instant | None = None


class Reservation(Resource[ReservationSpec, ReservationStatus]):
    """A reservation as it was read."""

    @property
    def begun(self) -> float | None:
        """When it was first active, of one whose time is not over; it stays so while it looks for another place."""
        return self.status.start if self.status.phase in ("active", "pending") else None

    def window(self, now: float) -> tuple[float, float | None]:
        """Start and end, were it booked now; one that has begun keeps its start wherever it is booked anew."""
        spec, begun = self.spec, self.begun
        start = spec.start if spec.start is not None else begun if begun is not None else now
        return start, spec.end if spec.duration_seconds is None else start + spec.duration_seconds
