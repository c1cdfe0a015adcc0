"""The shape of a controller: observe what is, decide what should follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from controllers.runtime.decision import Decision, Facts
from controllers.scheduling import Scheduling
from placement import FleetView
from resources.allocation import Allocation
from resources.devices import Device
from resources.effect import EffectRecord
from resources.facts import Instance, NodeFacts
from resources.node import NoSchedule
from resources.reference import Ref
from resources.resource import Resource

R = TypeVar("R", bound=Resource[Any, Any], contravariant=True)
V = TypeVar("V")


class Reader(Protocol):
    """What `observe` may ask: one read transaction of the store, and the fleet view, never older than that snapshot."""

    now: float
    server_started_at: float
    """Or when its wall clock was last set: silence counts from then on at the earliest."""

    def find(self, ref: Ref) -> Resource[Any, Any] | None: ...
    def owned(self, uid: str, kind: str | None = None) -> Sequence[Resource[Any, Any]]:
        """Resources whose owner has this uid, by name."""
        ...

    def by_label(self, kind: str, key: str, value: str, project: str | None = None) -> Sequence[Resource[Any, Any]]: ...
    def allocations(
        self, *, uid: str | None = None, node: str | None = None, pool: str | None = None
    ) -> Sequence[Allocation]: ...
    def instances(self, *, uid: str | None = None, node: str | None = None) -> Sequence[Instance]: ...
    def facts(self, node: str) -> NodeFacts | None: ...
    def devices(self, node: str) -> Sequence[Device]:
        """As they count for placement, in the order in which the node lists them."""
        ...

    def effects(self, uid: str) -> Sequence[EffectRecord]: ...
    def refusals(self, node: str, since: float) -> Sequence[EffectRecord]:
        """Starts that this node refused since then (unix seconds), oldest first, less those that no node would take."""
        ...

    def ended_at_once(self, node: str, since: float, within: float) -> Sequence[Instance]:
        """Instances that ended there after that instant, by themselves, before `within` seconds, and never ready."""
        ...

    def blocks(self, node: str) -> Sequence[NoSchedule]:
        """Why nothing new is placed on a node, whoever wrote that."""
        ...

    def nodes(self, pool: str) -> Sequence[Resource[Any, Any]]: ...
    def silent_nodes(self, pool: str) -> Sequence[str]:
        """Names of the pool's nodes whose status says silent or lost."""
        ...

    def waiting_jobs(self, pool: str) -> int:
        """Jobs of the pool that wait for a place."""
        ...

    def capacity_revision(self, pool: str) -> int:
        """Rises whenever the pool gains room; `Decision.no_place_since` fences a decision not to place with it."""
        ...

    def line(self, pool: str, own: Ref) -> tuple[Sequence[Resource[Any, Any]], Ref | None]:
        """Reservations of the pool that wait, the oldest first, and the first before `own` that another pass works on.

        Such are left out of the line, and so are paused ones.
        """
        ...

    def scheduling(self) -> Scheduling:
        """Plugins of the placer, and what the server sets for every pool."""
        ...

    def fleet(self) -> FleetView:
        """The shared view; only while the pool's planning lock is held (controllers with `places = True`)."""
        ...


class Controller(Protocol[R, V]):
    """One kind's policy. `places`: its passes hold the planning lock from `observe` to `decide`."""

    kind: ClassVar[str]
    places: ClassVar[bool]

    def observe(self, resource: R, reader: Reader) -> V: ...
    def decide(self, resource: R, view: V, facts: Facts) -> Decision: ...
