"""What a placer is asked, and its three answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from controllers.runtime.decision import Reserve
from controllers.scheduling import PLAIN, Scheduling
from placement import FleetView, PoolPolicy
from resources.allocation import Allocation
from resources.reference import Ref
from resources.reservation import Reservation


@dataclass(frozen=True)
class Context:
    """All that a placer knows beside the reservation: it reads no clock and draws no number of its own.

    `line` are the reservations of the pool that wait, the oldest first, less those that are paused and those that
    somebody else works on. `leader` is the first of those that has waited longer.
    """

    fleet: FleetView
    policy: PoolPolicy
    now: float
    seed: int = 0
    excluded: Mapping[str, str] = field(default_factory=dict)
    line: Sequence[Reservation] = ()
    scheduling: Scheduling = PLAIN
    leader: Ref | None = None


@dataclass(frozen=True)
class Placed:
    """`allocations` are the reservation's own; the claims hold theirs and those of others that were placed with it."""

    allocations: tuple[Allocation, ...]
    claims: tuple[Reserve, ...]
    wake: tuple[Ref, ...] = ()


@dataclass(frozen=True)
class Pending:
    """Nothing fits; `claims` are of others that were looked after in the same pass."""

    reason: str
    claims: tuple[Reserve, ...] = ()
    wake: tuple[Ref, ...] = ()


@dataclass(frozen=True)
class Queued:
    """Another one's pass is at work on the line right now: `leader`, who has waited longer."""

    leader: Ref


Outcome = Placed | Pending | Queued


class Placer(Protocol):
    """Answers exactly one of the three; the claims are written, guarded, by the commit of the pass that asked."""

    @property
    def id(self) -> str: ...
    def place(self, asked: Reservation, context: Context) -> Outcome: ...
