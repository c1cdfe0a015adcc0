"""Reservation: books devices and amounts for a time, waits where there is no room, frees them at its end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from controllers import placing, reserving
from controllers.placers.contract import Context, Pending, Placed, Queued
from controllers.placers.inline import stayed
from controllers.placers.registry import PLACERS
from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts, Release, Reserve
from controllers.scheduling import PLAIN, Scheduling
from placement import FleetView
from placement.explain import after_lost_races
from placement.preempting import victims
from resources.allocation import Allocation
from resources.conditions import Condition, condition
from resources.event import Event
from resources.instants import kept, rfc3339
from resources.pool import Pool
from resources.reference import Ref
from resources.reservation import RESERVATION_FINALIZER, Reservation, ReservationStatus

TURN_SECONDS = 1.0
"""How long one gives another one's pass to look after it too."""
TICK_SECONDS = 30.0
"""How long one without a place waits for a change before it looks again by itself."""


@dataclass(frozen=True)
class ReservationView:
    """`preemptible` are allocations of other reservations that may be taken from them, with whose they are."""

    pool: Pool | None = None
    allocations: Sequence[Allocation] = ()
    fleet: FleetView = field(default_factory=FleetView)
    lost: Collection[str] = ()
    """Nodes of its allocations that count as lost."""
    capacity_revision: int = 0
    preemptible: Mapping[str, str] = field(default_factory=dict)
    scheduling: Scheduling = PLAIN
    line: Sequence[Reservation] = ()
    """Reservations of the pool that wait, the oldest first."""
    leader: Ref | None = None
    """One that has waited longer, and that another pass works on."""
    seekers: Sequence[Ref] = ()
    """Jobs of its holder."""


class ReservationController:
    kind: ClassVar[str] = "reservation"
    places: ClassVar[bool] = True

    def observe(self, resource: Reservation, reader: Reader) -> ReservationView:
        pool = reader.find(Ref("pool", resource.spec.pool))
        line, leader = reader.line(resource.spec.pool, resource.ref)
        allocations = tuple(reader.allocations(uid=resource.uid))
        return ReservationView(
            pool=pool if isinstance(pool, Pool) else None,
            allocations=allocations,
            lost=reserving.lost_nodes(reader, allocations),
            fleet=reader.fleet(),
            capacity_revision=reader.capacity_revision(resource.spec.pool),
            scheduling=reader.scheduling(),
            line=tuple(one for one in line if isinstance(one, Reservation)),
            leader=leader,
            preemptible=reserving.preemptible(reader, resource) if resource.spec.preempts else {},
            seekers=reserving.seekers(reader, resource),
        )

    def decide(self, resource: Reservation, view: ReservationView, facts: Facts) -> Decision:
        """Booked once and as asked, or waiting; a changed spec keeps what it had until it has its new place.

        So does one of whose nodes or devices something is gone or sick: it is booked anew where there is room.
        """
        now = kept(facts.now)
        status = resource.status
        if resource.deleting:
            released = status.model_copy(update={"phase": "released", "allocations": ()})
            return Decision(released, finalizers=(), claims=_release(view.allocations))
        current = status.booked_generation == resource.generation or _planned(resource, view.allocations)
        if view.allocations and _over(view.allocations, now):
            if current:
                return _expired(resource, view, "its time is over")
            given_back = _release(view.allocations)
            decision = self.decide(resource, replace(view, allocations=()), facts)
            return replace(decision, claims=(*given_back, *decision.claims))
        if view.allocations and current and not reserving.broken(view.allocations, view.fleet, view.lost):
            return _holding(resource, view, view.allocations, now)
        if status.phase == "expired" and current:
            return _expired(resource, view, "its time is over")
        _, end = resource.window(now)
        if end is not None and end <= now:
            booked = bool(view.allocations)
            said = "its time is over" if booked else reserving.TOO_LATE
            return _expired(resource, view, said, booked=booked)
        return _look(resource, view, facts, now)


def _look(resource: Reservation, view: ReservationView, facts: Facts, now: float) -> Decision:
    if view.pool is None:
        return _waiting(resource, view, now, "NoPool", f"no pool {resource.spec.pool}")
    if facts.conflicts:
        said = after_lost_races(facts.conflicts, list(facts.excluded.values())[-1])
        return replace(_waiting(resource, view, now, "NoFit", said), requeue_after=0.0, no_place_since=None)
    policy = placing.policy_of(view.pool.spec, view.scheduling, archived=view.pool.deleting)
    own = (*(one.id for one in view.allocations), *reserving.users(resource, view.allocations, view.fleet))
    found: Sequence[str] | None = None
    seats = () if view.lost else reserving.seats(resource, view.allocations, view.fleet)
    excluded = {**dict.fromkeys(view.lost, "unreachable"), **facts.excluded}
    with view.fleet.without(own) as fleet:
        line = _line(resource, view)
        context = Context(fleet, policy, now, facts.seed, excluded, line, view.scheduling, view.leader)
        answer = stayed(resource, seats, context) or PLACERS[view.scheduling.placer].place(resource, context)
        if isinstance(answer, Pending) and resource.spec.gang is None and view.preemptible:
            request = reserving.request_of(resource, now, excluded)
            found = victims(request, fleet, policy, view.preemptible)
    match answer:
        case Queued(leader=leader):
            waiting = _waiting(resource, view, now, "NoFit", f"waits for its turn behind {leader}")
            return replace(waiting, requeue_after=TURN_SECONDS, no_place_since=None)
        case Pending(reason=reason):
            waiting = _waiting(resource, view, now, "NoFit", reason, found or ())
            return replace(waiting, claims=answer.claims, wake=answer.wake)
        case Placed(allocations=made):
            return _booked(view, answer, _holding(resource, view, made, now))


def _line(resource: Reservation, view: ReservationView) -> list[Reservation]:
    """Itself as it was read, in its turn among those that wait."""
    return [resource if one.uid == resource.uid else one for one in view.line]


def _booked(view: ReservationView, answer: Placed, holding: Decision) -> Decision:
    places = ", ".join(dict.fromkeys(one.node for one in answer.allocations))
    event = Event("PlacementDecision", f"booked on {places}", payload={"outcome": "placed", "nodes": places})
    claims: tuple[Reserve | Release, ...] = (*_release(view.allocations), *answer.claims)
    return replace(holding, claims=claims, events=(event,), wake=(*answer.wake, *holding.wake))


def _holding(resource: Reservation, view: ReservationView, allocations: Sequence[Allocation], now: float) -> Decision:
    """Its holder's jobs hear when it begins, and when it is booked anew."""
    start, end = allocations[0].starts_at, allocations[0].ends_at
    begun = start is None or start <= now
    places = ", ".join(dict.fromkeys(one.node for one in allocations))
    until = "" if end is None else f" until {rfc3339(end)}"
    if begun:
        ready = condition("Ready", True, "Active", f"is active on {places}{until}")
    else:
        assert start is not None
        ready = condition("Ready", False, "NotYet", f"is booked on {places} from {rfc3339(start)}{until}")
    status = _status(
        resource,
        ready,
        condition("Booked", True, "Guaranteed", places),
        condition("Unschedulable", False, "Placed", places),
        phase="active" if begun else "booked",
        allocations=tuple(map(reserving.held, allocations)),
        start=start,
        end=end,
        booked_generation=resource.generation,
    )
    next_look = end if begun else start
    news = begun and (resource.status.phase != "active" or resource.status.booked_generation != resource.generation)
    return Decision(
        status,
        wake=tuple(view.seekers) if news else (),
        finalizers=tuple(dict.fromkeys((*resource.finalizers, RESERVATION_FINALIZER))),
        requeue_after=None if next_look is None else max(next_look - now, 0.0),
    )


def _waiting(
    resource: Reservation,
    view: ReservationView,
    now: float,
    reason: str,
    said: str,
    in_the_way: Sequence[str] = (),
) -> Decision:
    """`in_the_way` are allocations of others without which it would fit. What it already has it keeps."""
    start, end = resource.window(now)
    since = resource.status.waiting_since
    fresh = since is None
    asked = f"waits for a place: {said}"
    places, kept_until = _kept(view)
    if whole := bool(view.allocations) and not reserving.broken(view.allocations, view.fleet, view.lost):
        asked += f"; keeps what it has on {places}" + ("" if kept_until is None else f" until {rfc3339(kept_until)}")
    names = tuple(dict.fromkeys(view.preemptible[name] for name in in_the_way))
    status = _status(
        resource,
        condition("Ready", False, "NoFit", asked),
        condition("Booked", whole, "Guaranteed" if whole else "NoFit", places if whole else said),
        condition("Unschedulable", True, reason, said),
        phase=resource.status.phase if view.allocations else "pending",
        allocations=tuple(map(reserving.held, view.allocations)),
        start=resource.begun,
        end=resource.status.end if view.allocations else None,
        victims=names,
        starts_at=start if names else None,
        booked_generation=resource.status.booked_generation,
        waiting_since=now if fresh else since,
    )
    event = Event("PlacementFailed", "noCapacityInAnyPool", "Warning", {"outcome": "unschedulable", "sentence": said})
    due = [now + TICK_SECONDS, *(at for at in (end, kept_until) if at is not None)]
    return Decision(
        status,
        events=(event,) if fresh else (),
        requeue_after=max(min(due) - now, 0.0),
        no_place_since=(resource.spec.pool, view.capacity_revision),
    )


def _kept(view: ReservationView) -> tuple[str, float | None]:
    """Where it is booked as it was asked for before, and until when."""
    places = ", ".join(dict.fromkeys(one.node for one in view.allocations))
    return places, view.allocations[0].ends_at if view.allocations else None


def _expired(resource: Reservation, view: ReservationView, said: str, *, booked: bool = True) -> Decision:
    status = _status(
        resource,
        condition("Ready", booked, "Expired", said),
        condition("Booked", False, "NoFit", said),
        phase="expired",
        start=resource.status.start,
        end=resource.status.end,
        booked_generation=resource.generation,
    )
    finalizers = tuple(name for name in resource.finalizers if name != RESERVATION_FINALIZER)
    return Decision(status, finalizers=finalizers, claims=_release(view.allocations))


def _status(resource: Reservation, *conditions: Condition, **fields: Any) -> ReservationStatus:
    return ReservationStatus(observed_generation=resource.generation, conditions=conditions, **fields)


def _release(allocations: Sequence[Allocation]) -> tuple[Release, ...]:
    return tuple(Release(allocation.id) for allocation in allocations)


def _planned(resource: Reservation, allocations: Sequence[Allocation]) -> bool:
    """Whether they were made for the spec as it stands, maybe by another one's pass."""
    mine = f"{resource.uid}.{resource.generation}."
    return bool(allocations) and all(allocation.id.startswith(mine) for allocation in allocations)


def _over(allocations: Sequence[Allocation], now: float) -> bool:
    end = allocations[0].ends_at
    return end is not None and end <= now
