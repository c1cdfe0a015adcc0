"""The placer's three answers, and the plan that led to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.bookings import Granted, Inside
from placement.filters import Rejection
from placement.policy import Shape


class Placed(NamedTuple):
    """Take this node. `violated` names the resilience flags that it breaks for want of anything better."""

    node: str
    tier: str
    violated: tuple[str, ...] = ()
    devices: tuple[Granted, ...] = ()
    inside: Inside | None = None
    """The reservation that has been kept for it, if the place is in one."""


class Provision(NamedTuple):
    """Start a machine of this shape in this tier, in one of these zones; no zones: wherever the tier likes."""

    tier: str
    shape: Shape
    zones: tuple[str, ...] = ()
    violated: tuple[str, ...] = ()


NO_CAPACITY, NOT_ADMITTED = "noCapacityInAnyPool", "notAdmitted"


class Unschedulable(NamedTuple):
    """Nowhere, now. The reason is the sentence that people read."""

    reason: str
    code: str = NO_CAPACITY


Answer = Placed | Provision | Unschedulable


class Ranked(NamedTuple):
    """A node that every filter keeps: its key, one sum a level, greater is better."""

    node: str
    tier: str
    key: tuple[int, ...]
    violated: tuple[str, ...] = ()


class TierOutcome(NamedTuple):
    """What became of one tier: how many nodes were looked at and kept, and why it starts no machine ("" if it may)."""

    tier: str
    nodes: int
    kept: int
    no_machine: str
    looked_at: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """One request answered. The same inputs and seed give an equal plan."""

    answer: Answer
    nodes: int
    """Nodes of the pool, looked at or not."""
    ranked: tuple[Ranked, ...] = ()
    """What the filters kept in the tiers looked at: tiers in order, the best node first in each."""
    rejections: tuple[Rejection, ...] = ()
    """The nodes looked at and refused, by name, each under its first failing filter."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Refused nodes by printed reason, the most common first."""
    tiers: tuple[TierOutcome, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def placed(self) -> bool:
        return isinstance(self.answer, Placed)
