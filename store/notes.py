"""Notes: what a committed write tells the rest of the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resources.allocation import Allocation
from resources.devices import Device
from resources.facts import NodeFacts
from resources.reference import Ref
from resources.resource import Resource


@dataclass(frozen=True)
class Written:
    """A resource was created or changed."""

    resource: Resource[Any, Any]


@dataclass(frozen=True)
class Gone:
    """A resource was removed, at a revision of its own."""

    resource: Resource[Any, Any]
    revision: int = 0


@dataclass(frozen=True)
class Reserved:
    allocation: Allocation
    number: int = 0
    """Of the entry in the log of placements."""


@dataclass(frozen=True)
class Released:
    allocation: Allocation
    number: int = 0
    """Of the entry in the log of placements."""


@dataclass(frozen=True)
class NodeReported:
    """A node's facts changed in what placement sees: inventory, boot, connection."""

    facts: NodeFacts


@dataclass(frozen=True)
class BlocksChanged:
    """The NoSchedule reasons of a node, in stored order."""

    node: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Woken:
    """A key is due at `at` (unix seconds)."""

    ref: Ref
    at: float


@dataclass(frozen=True)
class EffectDue:
    """An effect of a provider is due at `at` (unix seconds)."""

    provider: str
    at: float


@dataclass(frozen=True)
class Evented:
    """An event was added or counted up."""

    ref: Ref
    type: str


@dataclass(frozen=True)
class RoomSet:
    """What a node has: resource to (total, claimable)."""

    node: str
    room: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class DevicesSet:
    """The devices of a node, in the order in which it lists them."""

    node: str
    devices: tuple[Device, ...]
    number: int = 0
    """Of the entry in the log of placements."""


@dataclass(frozen=True)
class Answered:
    """An effect came to its end, or nobody knows yet how it ended; `code` is empty where the answer has none."""

    kind: str
    state: str
    code: str


@dataclass(frozen=True)
class RunDue:
    """A child run is to be started, or gone on with."""

    run_id: str


@dataclass(frozen=True)
class RunOver:
    """A child run is cancelled: nobody needs to be at it."""

    run_id: str
