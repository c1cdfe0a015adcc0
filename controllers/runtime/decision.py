"""What a pass concluded: values only, carried out by the runtime in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resources.allocation import Allocation
from resources.canonical import Document
from resources.devices import Device
from resources.effect import Effect
from resources.event import Event
from resources.reference import Ref
from resources.resource import Kept, Status


@dataclass(frozen=True)
class Apply:
    """A child to create or bring to this spec; it is owned by the deciding resource. Equal specs write nothing."""

    ref: Ref
    spec: Document
    labels: Mapping[str, str] = field(default_factory=dict)
    initial: Document = field(default_factory=dict)
    """Fields of the spec that are set when the child is created, and left alone from then on."""
    finalizers: tuple[str, ...] = ()
    """Set when the child is created."""


@dataclass(frozen=True)
class Delete:
    """A child whose deletion is asked for; deleting twice changes nothing."""

    ref: Ref


@dataclass(frozen=True)
class Reserve:
    """Claim room on a node under the ledger's guards. The node still has these labels: key to value, "*" is any."""

    allocation: Allocation
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Release:
    """Give room back; releasing twice changes nothing."""

    allocation_id: str


@dataclass(frozen=True)
class Block:
    """A NoSchedule row of a node."""

    node: str
    reason: str
    cause: str = ""


@dataclass(frozen=True)
class Unblock:
    node: str
    reason: str
    cause: str = ""


@dataclass(frozen=True)
class Room:
    """What a node has: resource (vcpu in thousandths, cores, memory in MiB) to (total, claimable).

    `devices` in the order in which the node lists them. Claims stay as they are.
    """

    node: str
    pool: str
    amounts: Mapping[str, tuple[int, int]]
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What `decide` may know beside the resource and its view.

    `now` is unix seconds. `seed` is drawn by the runtime for this pass. `excluded` are nodes that lost a race for this
    key in this pass, with the reason.
    """

    now: float
    seed: int = 0
    excluded: Mapping[str, str] = field(default_factory=dict)
    conflicts: int = 0
    """Lost races of this pass where there were too many: no place is looked for any more."""
    seen: Document = field(default_factory=dict)
    """Where the records stood that the fleet view showed: what a replay of the decision goes back to."""


@dataclass(frozen=True)
class Decision:
    """`requeue_after` in seconds; None means settled. `finalizers` None leaves them as they are.

    A status that is not given is kept; None stores that nothing is known but the conditions.

    `no_place_since` is the pool's capacity revision that a decision *not* to place was made on: the commit refuses it
    if the pool has gained room since, so that no gain is slept through.
    """

    status: Status | Kept | None = Kept.STATUS
    finalizers: tuple[str, ...] | None = None
    children: tuple[Apply | Delete, ...] = ()
    claims: tuple[Reserve | Release, ...] = ()
    rooms: tuple[Room, ...] = ()
    blocks: tuple[Block | Unblock, ...] = ()
    effects: tuple[Effect, ...] = ()
    cancel: tuple[str, ...] = ()
    """Keys of own effects that are no longer wanted. One that was never tried is rejected(cancelled) by the commit; one
    that was tried
    is observed first, and rejected(cancelled) where it is absent."""
    events: tuple[Event, ...] = ()
    cite: Event | None = None
    """One of the events: the commit writes its id into the status field `decision`, for a reader to find it by."""
    wake: tuple[Ref, ...] = ()
    requeue_after: float | None = None
    no_place_since: tuple[str, int] | None = None
    """(pool, capacity revision)"""
