"""Node: one machine that can run jobs, registered by its agent or provisioned by a tier."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resources.frozen import Bool, Frozen, Instant, Number, Text
from resources.resource import Resource, Spec, Status

NodePhase = Literal["prospective", "booting", "running", "silent", "stopping", "terminated", "released", "lost"]


class SpareSpec(Frozen):
    warm_for: tuple[Text, ...] = ()
    reserved_for: tuple[Text, ...] = ()
    exclusive: Bool = False


class Taint(Frozen):
    key: Literal["dedicated"]
    value: Text


class NodeSpec(Spec):
    """`pool` cannot change. `utilizationCap` is the part of the machine that jobs may claim."""

    pool: Text
    tier: Text | None = None
    provider: Literal["aws", "oci", "agent"] = "agent"
    instance_type: Text | None = None
    region: Text | None = None
    zone: Text | None = None
    cordoned: Bool = False
    cordon_reason: Text | None = None
    utilization_cap: Annotated[Number, Field(gt=0, le=1)] | None = None
    spare: SpareSpec | None = None
    taints: tuple[Taint, ...] = ()


class Amount(Frozen):
    """One resource of a node. vCPU for `vcpu`, MiB for `memory`."""

    total: float = 0
    cap: float = 0
    reserved: float = 0
    free: float = 0


class Gpu(Frozen):
    """One GPU; `reserved` is the part of it that is claimed now."""

    index: int
    id: str
    model: str | None = None
    healthy: bool = True
    reserved: float = 0


class NoSchedule(Frozen):
    reason: str
    by: str = ""
    since: Instant = 0.0


class Rejection(Frozen):
    """A start that the node's agent refused."""

    at: Instant
    job: str
    reason: str


class Unhealthy(Frozen):
    """Kept out of placements since then."""

    since: Instant
    reason: Literal["Rejections", "BlackHole"]
    message: str


class Terminate(Frozen):
    """The end of the machine was asked for, once."""

    issued_at: Instant
    reason: str


class SpareStatus(Frozen):
    """A spare that once took a job is an ordinary node for good."""

    consumed: bool = False


class NicStatus(Frozen):
    name: str
    addresses: tuple[str, ...] = ()
    speed_mbit: int = 0


class NodeStatus(Status):
    phase: NodePhase = "prospective"
    provider_id: str | None = None
    address: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    agent_version: str | None = None
    last_heartbeat: Instant | None = None
    boot_id: str | None = None
    machine_id: str | None = None
    nics: tuple[NicStatus, ...] = ()
    capacity: dict[str, Amount] = Field(default_factory=dict)
    gpus: tuple[Gpu, ...] = ()
    devices_well_since: dict[str, Instant] = Field(default_factory=dict)
    """Devices that report themselves well again and do not count as well yet."""
    ports: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    no_schedule: tuple[NoSchedule, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    """The last three."""
    unhealthy: Unhealthy | None = None
    healthy_since: Instant | None = None
    """When it was last unhealthy no more; what led to that counts no longer."""
    spare: SpareStatus | None = None
    single_use: str | None = None
    """The job that the machine was taken for, and with which it goes."""
    terminate: Terminate | None = None
    silent_since: Instant | None = None
    lost_at: Instant | None = None
    given_up: bool = False
    """A person said that this lost node will not come back with what it ran."""


class Node(Resource[NodeSpec, NodeStatus]):
    """A node as it was read."""
