"""From a job and its pool to what the placer is asked, for passes, previews and `why` alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controllers.scheduling import PLAIN, Scheduling
from placement import (
    WHOLE,
    Amounts,
    Ask,
    Atom,
    FleetView,
    Forbid,
    PoolPolicy,
    Request,
    Shape,
    TierPolicy,
    board,
    capability_labels,
    driver_label,
)
from placement.request import ANY_VALUE, SparePreference
from resources.device_asks import DeviceAsk
from resources.job import JobSpec
from resources.job_entry import WHOLE_GPU
from resources.names import JobKey
from resources.pool import InstanceShape, PoolSpec, Tier
from resources.quantities import milli
from resources.reference import Ref
from resources.selectors import ANYTHING, Expression, Selector

GPU = "gpu"
PROCESS, CONTAINER = "process", "container"
"""Drivers: what starts a command, which every agent brings, and what starts an image."""
MODEL = "gpuModel"
SPARES: Mapping[str, SparePreference] = {"preferSpare": "prefer", "avoidSpare": "avoid", "drop": "any"}


class Mate(NamedTuple):
    """Another job of the same bundle."""

    ref: Ref
    spec: JobSpec

    @property
    def owner(self) -> str:
        return owner_of(self.ref)


def owner_of(ref: Ref) -> str:
    """How the placer calls a job: PROJECT/BUNDLE.ROLE.JOB."""
    return f"{ref.project}/{ref.name}"


def amounts_of(spec: JobSpec) -> Amounts:
    asked = spec.requirements
    return Amounts(milli(asked.required_capacity), asked.required_cores, asked.required_memory_mib)


def request_for(
    ref: Ref,
    spec: JobSpec,
    mates: Sequence[Mate],
    fleet: FleetView,
    *,
    ever_ran: bool = False,
    excluded: Mapping[str, str] | None = None,
    second_chance: frozenset[str] = frozenset(),
    now: float | None = None,
) -> Request:
    """What the placer is asked for this job. `mates` are the other jobs of its bundle, of both roles.

    The first of a co-located group to be placed asks for room, ports and capabilities of the whole group.
    """
    copy = [mate for mate in mates if mate.spec.role == spec.role]
    group = [mate for mate in copy if mate.spec.job_name in spec.co_locate_with]
    first = not any(fleet.nodes_of(mate.owner) for mate in group)
    amounts = amounts_of(spec)
    room = amounts
    for mate in group if first else ():
        room = room.plus(amounts_of(mate.spec))
    capabilities = [
        name
        for s in (spec, *(m.spec for m in group))
        for name in s.requirements.required_capabilities
        if name != WHOLE_GPU
    ]
    return Request(
        owner=owner_of(ref),
        pool=spec.pool,
        bundle=spec.bundle,
        role=spec.role,
        job=spec.job_name,
        amounts=amounts,
        room=room,
        ports=spec.requirements.required_host_ports,
        group_ports=tuple(p for m in group for p in m.spec.requirements.required_host_ports) if first else (),
        labels=capability_labels(tuple(dict.fromkeys(capabilities))) | _drivers(spec, *(m.spec for m in group)),
        excluded=dict(excluded or {}),
        second_chance=second_chance,
        exclusive=exclusive(spec, mates),
        together=_owners(ref, spec, spec.co_locate_with),
        separate=_owners(ref, spec, spec.separate_from),
        forbid=_forbid(spec, mates, fleet),
        same_zone=spec.same_az,
        peers=frozenset(mate.owner for mate in copy),
        images=frozenset(spec.images),
        template=spec.template,
        override_reservation=spec.override_reservation,
        spare=_spare(spec, ever_ran=ever_ran),
        devices=asks_of(spec),
        group_devices=tuple(ask for m in group for ask in asks_of(m.spec)) if first else (),
        start=now,
        holders=frozenset({f"{ref.project}/{spec.bundle}", owner_of(ref)}),
    )


def _drivers(*group: JobSpec) -> dict[str, str]:
    return {driver_label(CONTAINER if spec.image else PROCESS): ANY_VALUE for spec in group}


def asks_of(spec: JobSpec) -> tuple[Ask, ...]:
    """As listed, then the part of a GPU, then the whole one that a capability stands for."""
    asked = spec.requirements
    asks = list(asks_of_devices(asked.devices))
    model = asked.required_gpu_model
    selector = ANYTHING if model is None else Selector((Expression(MODEL, "In", (model,)),))
    if asked.required_gpu_capacity is not None:
        asks.append(Ask(GPU, 1, milli(asked.required_gpu_capacity), selector))
    if WHOLE_GPU in asked.required_capabilities:
        asks.append(Ask(GPU, selector=selector))
    return tuple(asks)


def asks_of_devices(asks: Sequence[DeviceAsk]) -> tuple[Ask, ...]:
    return tuple(Ask(ask.device_class, ask.count or 1, ask.units or WHOLE, ask.selects, ask.topology) for ask in asks)


def exclusive(spec: JobSpec, mates: Sequence[Mate]) -> bool:
    """Whether the node must carry nobody but the group: one member that asks for it speaks for all."""
    group = (m.spec for m in mates if m.spec.role == spec.role and m.spec.job_name in spec.co_locate_with)
    return spec.exclusive or any(member.exclusive for member in group)


def policy_of(pool: PoolSpec, scheduling: Scheduling = PLAIN, *, archived: bool = False) -> PoolPolicy:
    """A pool that is being deleted is archived: it takes nothing new."""
    return scheduling.of(PoolPolicy(tiers=tuple(map(_tier, pool.tiers)), archived=archived), pool)


def _tier(tier: Tier) -> TierPolicy:
    return TierPolicy(
        name=tier.name,
        kind=tier.kind,
        packing=tier.packing_strategy,
        elastic=tier.scale_out == "elastic",
        shapes=tuple(map(_shape, tier.candidate_instance_types)),
        zones=tier.zones,
        max_nodes=tier.max_nodes,
    )


def _shape(shape: InstanceShape) -> Shape:
    capacity = Amounts(int(shape.total_capacity * 1000), shape.total_cores, shape.memory_mib)
    labels = dict.fromkeys((*capability_labels(shape.capabilities), driver_label(PROCESS)), "")
    models = [gpu.model for gpu in shape.gpus for _ in range(gpu.count)]
    atoms = [Atom(f"gpu-{at:02}", GPU, ((MODEL, model),), position=at) for at, model in enumerate(models)]
    return Shape(shape.instance_type, capacity, labels, board=board(atoms) if atoms else None)


def _owners(ref: Ref, spec: JobSpec, names: Sequence[str]) -> frozenset[str]:
    """Jobs of the same copy, whether they exist already or not."""
    return frozenset(f"{ref.project}/{JobKey(spec.bundle, spec.role, name).wire}" for name in names)


def _forbid(spec: JobSpec, mates: Sequence[Mate], fleet: FleetView) -> Forbid:
    """Where the primary copy stands, any job of it, as far as the flags say to stay away."""
    primaries = [mate.owner for mate in mates if mate.spec.role == "primary"]
    names = {name for owner in primaries for name in fleet.nodes_of(owner)}
    nodes = [node for name in sorted(names) if (node := fleet.node(name)) is not None]
    flags = spec.forbid
    return Forbid(
        nodes=frozenset(names) if flags.same_node == "forbid" else frozenset(),
        zones=frozenset(node.zone for node in nodes if node.zone) if flags.same_az == "forbid" else frozenset(),
        clouds=frozenset(node.cloud for node in nodes if node.cloud) if flags.same_cloud == "forbid" else frozenset(),
    )


def _spare(spec: JobSpec, *, ever_ran: bool) -> SparePreference:
    """The bundle's launch rule until the job has once run, its own failure policy from then on."""
    if not ever_ran:
        return "avoid" if spec.on_launch == "avoidSpare" else "any"
    return SPARES[spec.requirements.on_runtime_failure]
