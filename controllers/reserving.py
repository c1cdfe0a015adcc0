"""From a reservation to what the placer is asked, and from its answer to what is claimed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from controllers.expansion import BUNDLE_LABEL
from controllers.placing import asks_of_devices
from controllers.runtime.controller import Reader
from placement import Amounts, FleetView, Placed, Request, capability_labels
from placement.staying import Seat
from resources.allocation import Allocation
from resources.devices import Booking
from resources.node import Node
from resources.reference import Ref
from resources.reservation import Held, HeldDevice, Reservation, ReservationSpec, ReservedAmounts

DEVICE_LIMITS = "devices.limits"
TOO_LATE = "its time was over before it had a place"
KUBERNETES = "binding.kubernetes"


def request_of(resource: Reservation, now: float, excluded: Mapping[str, str] | None = None) -> Request:
    """What one member asks."""
    spec = resource.spec
    start, end = resource.window(now)
    return Request(
        owner=f"{resource.project}/{resource.name}",
        pool=spec.pool,
        bundle=resource.name,
        role="primary",
        job=resource.name,
        amounts=Amounts(spec.amounts.vcpu_milli, spec.amounts.cores, spec.amounts.memory_mib),
        labels=capability_labels(capabilities(spec)),
        excluded=dict(excluded or {}),
        exclusive=spec.lease,
        tenant=spec.tenant,
        devices=asks_of_devices(spec.devices),
        lease=spec.lease,
        start=start,
        end=end,
        at_once=start <= now,
    )


def holder_of(project: str, spec: ReservationSpec) -> str | None:
    """Whose jobs it is for, as the placer calls them: a bundle, or one job. Any other text is a note for people."""
    told = (spec.holder or "").removeprefix("bundle/").removeprefix("job/")
    names = told.split("/")
    return f"{project}/{'.'.join(names)}" if told and len(names) in (1, 3) else None


def capabilities(spec: ReservationSpec) -> tuple[str, ...]:
    """What a node must be able to do for the way in which the reservation is used there."""
    if spec.binding == "kubernetes":
        return (KUBERNETES,)
    return (DEVICE_LIMITS,) if spec.devices and not spec.lease else ()


def allocation(resource: Reservation, placed: Placed, number: int, fleet: FleetView, now: float) -> Allocation:
    spec = resource.spec
    start, end = resource.window(now)
    amounts = Amounts(spec.amounts.vcpu_milli, spec.amounts.cores, spec.amounts.memory_mib)
    node = fleet.node(placed.node)
    if spec.lease and node is not None:
        free = node.over(request_of(resource, now)).free
        amounts = Amounts(*(max(amount, 0) for amount in free))
    return Allocation(
        id=f"{resource.uid}.{resource.generation}.{number}",
        uid=resource.uid,
        owner=resource.ref,
        instance=str(number),
        pool=spec.pool,
        node=placed.node,
        capacity_milli=amounts.capacity_milli,
        cores=amounts.cores,
        memory_mib=amounts.memory_mib,
        exclusive=spec.lease,
        devices=tuple(Booking(atom.id, atom.units) for atom in placed.devices),
        starts_at=start,
        ends_at=end,
        tenant=spec.tenant,
        lease=spec.lease,
        holder=holder_of(resource.project, resource.spec),
    )


def broken(allocations: Sequence[Allocation], fleet: FleetView, lost: Collection[str]) -> bool:
    """Whether a node of it is gone or counts as lost, or one of its devices is gone or counts no longer."""
    for one in allocations:
        node = fleet.node(one.node)
        if node is None or one.node in lost:
            return True
        board = node.board
        usable = set() if board is None else {name for at, name in enumerate(board.ids) if board.layout.usable[at]}
        if any(booking.device not in usable for booking in one.devices):
            return True
    return False


def held(one: Allocation) -> Held:
    return Held(
        node=one.node,
        devices=tuple(HeldDevice(id=booking.device, units=booking.units) for booking in one.devices),
        amounts=ReservedAmounts(vcpu_milli=one.capacity_milli, memory_mib=one.memory_mib, cores=one.cores),
    )


def seekers(reader: Reader, resource: Reservation) -> tuple[Ref, ...]:
    """The jobs that it is for."""
    holder = (holder_of(resource.project, resource.spec) or "").rpartition("/")[2]
    jobs = reader.by_label("job", BUNDLE_LABEL, holder.partition(".")[0], resource.project) if holder else ()
    return tuple(job.ref for job in jobs if "." not in holder or job.name == holder)


def seats(resource: Reservation, allocations: Sequence[Allocation], fleet: FleetView) -> tuple[Seat, ...]:
    """Where its members are, those first whose devices are in use; none if there are to be more than there are."""
    inside = [claim for name in users(resource, allocations, fleet) if (claim := fleet.claim(name)) is not None]
    used = {(claim.node, device) for claim in inside for device, _ in claim.devices}
    found = []
    for one in allocations:
        mine = [booking.device for booking in one.devices]
        first = [device for device in mine if (one.node, device) in used]
        found.append(Seat(one.node, (*first, *(device for device in mine if device not in first)), len(first)))
    size = 1 if resource.spec.gang is None else resource.spec.gang.size
    busy = {claim.node for claim in inside}
    found.sort(key=lambda seat: (-seat.kept, seat.node not in busy))
    return tuple(found[:size]) if size <= len(found) else ()


def lost_nodes(reader: Reader, allocations: Sequence[Allocation]) -> frozenset[str]:
    """Of the nodes that it is on."""
    found = (reader.find(Ref("node", name)) for name in {one.node for one in allocations})
    return frozenset(node.name for node in found if isinstance(node, Node) and node.status.phase == "lost")


def users(resource: Reservation, allocations: Sequence[Allocation], fleet: FleetView) -> list[str]:
    """What jobs have taken of it: where it stays, they stay within."""
    nodes = (fleet.node(name) for name in dict.fromkeys(one.node for one in allocations))
    claims = (claim for node in nodes if node is not None for claim in node.claims.values())
    return [claim.allocation for claim in claims if claim.inside and claim.reservation == resource.uid]


def preemptible(reader: Reader, resource: Reservation) -> dict[str, str]:
    """Allocations in the pool that their reservations would give up, the oldest first, and whose they are."""
    found = {}
    for one in reader.allocations(pool=resource.spec.pool):
        owner = reader.find(one.owner) if one.owner.kind == "reservation" else None
        if isinstance(owner, Reservation) and owner.spec.preemptible and owner.uid != resource.uid:
            found[one.id] = (owner.created_at, owner.name)
    return {name: owner for name, (_, owner) in sorted(found.items(), key=lambda item: (item[1], item[0]))}
