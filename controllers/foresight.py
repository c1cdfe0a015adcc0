"""Where a reservation would be booked now: the same pipeline without the commit."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.placing import policy_of
from controllers.reserving import TOO_LATE, allocation, preemptible, request_of, seats, users
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from controllers.runtime.seen import seen
from placement import FleetView, Placed, PoolPolicy, Ranked, Request
from placement.bookings import granted, leased
from placement.fullness import SCALE
from placement.gang import gang
from placement.preempting import victims
from placement.shortcut import place
from placement.staying import Seat, stay
from resources.canonical import Document
from resources.instants import rfc3339
from resources.pool import Pool
from resources.reference import Ref
from resources.reservation import Reservation
from store.tx import Tx

MOST_CANDIDATES = 10


def foresee(tx: Tx, resource: Reservation, fleet: Fleet, scratch: FleetView) -> Document:
    """{fits, candidates: [{node, atoms, score}], reason?, preemptible?}; the best candidate first.

    A gang shows the members of the best one, and what is booked already its own place, if it still fits there. Nothing
    is written but to `scratch`, a copy of the view on which the best candidate is taken; no draw is made.
    """
    reader = SnapshotReader(tx, fleet, 0.0)
    pool = reader.find(Ref("pool", resource.spec.pool))
    if not isinstance(pool, Pool):
        return _no(f"no pool {resource.spec.pool}")
    _, end = resource.window(tx.now)
    if end is not None and end <= tx.now:
        return _no(TOO_LATE)
    policy = policy_of(pool.spec, fleet.scheduling, archived=pool.deleting)
    held = tuple(reader.allocations(uid=resource.uid))
    its_own, inside = seats(resource, held, scratch), users(resource, held, scratch)
    own = [one.id for one in held]
    with scratch.without([*own, *inside]) as view:
        answer, members = _answer(resource, reader, view, policy, its_own)
    if members:
        for claim in own:
            scratch.drop_claim(claim)
        for number, one in enumerate(members):
            scratch.put_claim(seen(allocation(resource, one, number, scratch, tx.now)))
    return answer


def _answer(
    resource: Reservation, reader: SnapshotReader, view: FleetView, policy: PoolPolicy, its_own: Sequence[Seat]
) -> tuple[Document, Sequence[Placed]]:
    """What is told, and what it would take."""
    request = request_of(resource, reader.now)
    staying = stay(request, view, policy, its_own) if its_own else ()
    if staying:
        return {"fits": True, "candidates": _members(staying)}, staying
    if resource.spec.gang is not None:
        asked = resource.spec.gang
        found = gang(request, view, policy, size=asked.size, domain=asked.domain)
        if not found.members:
            return _no(found.reason), ()
        return {"fits": True, "candidates": _members(found.members)}, found.members
    done = place(request, view, policy, first=MOST_CANDIDATES)
    if isinstance(done.answer, Placed):
        candidates = [_candidate(one, request, view, policy) for one in done.ranked]
        return {"fits": True, "candidates": candidates}, (done.answer,)
    answer = _no(getattr(done.answer, "reason", "no node of that shape is there yet"))
    if not resource.spec.preemptible:
        answer |= _preempting(reader, resource, request, view, policy)
    return answer, ()


def _no(reason: str) -> Document:
    return {"fits": False, "candidates": [], "reason": reason}


def _members(members: Sequence[Placed]) -> list[Document]:
    return [{"node": one.node, "atoms": [atom.id for atom in one.devices]} for one in members]


def _candidate(one: Ranked, request: Request, view: FleetView, policy: PoolPolicy) -> Document:
    node = view.node(one.node)
    assert node is not None
    tier = next(tier for tier in policy.tiers if tier.name == one.tier)
    atoms = leased(node) if request.lease else granted(request, node, binpack=tier.packing == "binpack")
    score = round(sum(one.key) / (1000 * SCALE), 6)
    return {"node": one.node, "atoms": [atom.id for atom in atoms], "score": score}


def _preempting(
    reader: SnapshotReader, resource: Reservation, request: Request, view: FleetView, policy: PoolPolicy
) -> Document:
    """Told only where it would then fit."""
    able = preemptible(reader, resource)
    found = victims(request, view, policy, able) if able else None
    if not found:
        return {}
    start, _ = resource.window(reader.now)
    names = list(dict.fromkeys(able[name] for name in found))
    return {"preemptible": {"reservations": names, "startsAt": rfc3339(start)}}
