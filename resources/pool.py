"""Pool: ordered tiers of machines, how to rank them, and what to do when they go silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from resources import pool_rules
from resources.broken_rules import BrokenRule
from resources.frozen import Count, Frozen, Int, Number, Text
from resources.resource import Resource, Spec, Status
from resources.schedules import Cron, TimeZone

LEAD_SECONDS = 300.0
"""What a machine of a cloud takes to come up, unless its tier says otherwise."""
FENCE_MARGIN_SECONDS = 20.0
"""A job with `onDisconnect: stop` is ended this long before its node counts as lost."""
LEAST_FENCE_SECONDS = 1.0
BEATS_WITHIN = 3
"""So many heartbeats fit into the time after which something happens without one."""
Percentage = Annotated[Number, Field(gt=0, le=1)]


class GpuShape(Frozen):
    model: Text
    count: Annotated[Int, Field(ge=1)]


class InstanceShape(Frozen):
    """One machine type that an elastic tier may launch; capacity in vCPU."""

    instance_type: Text
    total_capacity: Annotated[Number, Field(gt=0)]
    total_cores: Count
    capabilities: tuple[Text, ...] = ()
    memory_mib: Annotated[Count, Field(alias="memoryMiB")] = 0
    gpus: tuple[GpuShape, ...] = ()
    price_per_hour: Annotated[Number, Field(ge=0)] | None = None


class RootVolume(Frozen):
    size_gib: Annotated[Int, Field(ge=1, alias="sizeGiB")]
    type: Text = "gp3"
    iops: Count | None = None


class Machine(Frozen):
    """What a provider needs to launch one; never credentials or addresses."""

    image: Text
    subnets: tuple[Text, ...] = ()
    security_groups: tuple[Text, ...] = ()
    instance_profile: Text | None = None
    tags: dict[Text, Text] = Field(default_factory=dict)


class Tier(Frozen):
    """One homogeneous segment of capacity."""

    name: Annotated[Text, Field(min_length=1, max_length=63)]
    kind: Literal["aws", "oci", "local-servers"]
    scale_out: Literal["elastic", "fixed"]
    region: Text | None = None
    zones: tuple[Text, ...] = ()
    packing_strategy: Literal["binpack", "spread"] = "binpack"
    launch_mode: Literal["on-demand", "spot", "reserved"] = "on-demand"
    reliability: Literal["durable", "interruptible"] | None = None
    max_nodes: Count | None = None
    root_volume: RootVolume | None = None
    placement_lead_ms: Count | None = None
    provision_timeout_ms: Annotated[Int, Field(gt=0)] | None = None
    startup_grace_ms: Annotated[Int, Field(gt=0)] | None = None
    candidate_instance_types: tuple[InstanceShape, ...] = ()
    machine: Machine | None = None

    @property
    def lead_seconds(self) -> float:
        """How long before a job's start its placement may begin."""
        if self.placement_lead_ms is not None:
            return self.placement_lead_ms / 1000
        return 0.0 if self.kind == "local-servers" else LEAD_SECONDS

    @property
    def provision_timeout_seconds(self) -> float:
        """How long a machine may take to come up before the jobs that wait for it are placed again."""
        if self.provision_timeout_ms is not None:
            return self.provision_timeout_ms / 1000
        return 2 * max(self.lead_seconds, LEAD_SECONDS)

    @property
    def startup_grace_seconds(self) -> float:
        """How long a machine may take to come up before it is terminated."""
        if self.startup_grace_ms is not None:
            return self.startup_grace_ms / 1000
        return self.provision_timeout_seconds + LEAD_SECONDS

    @property
    def durable(self) -> bool:
        """Whether machines of this tier are not reclaimed by their provider."""
        return (self.reliability or ("interruptible" if self.launch_mode == "spot" else "durable")) == "durable"


class FailurePolicy(Frozen):
    max_restarts_per_hour: Count | None = None


class FailurePolicies(Frozen):
    prefer_spare: FailurePolicy = FailurePolicy()
    avoid_spare: FailurePolicy = FailurePolicy()


class Disconnect(Frozen):
    """When a node counts as silent, and when as lost; seconds since its last heartbeat."""

    silent_seconds: Annotated[Number, Field(gt=0)] = 15
    lost_seconds: Annotated[Number, Field(gt=0)] = 60

    @model_validator(mode="after")
    def _ordered(self) -> Disconnect:
        if self.lost_seconds <= self.silent_seconds:
            raise ValueError(f"lostSeconds: must be above silentSeconds ({self.silent_seconds:g})")
        return self

    @property
    def fences(self) -> bool:
        """Whether there is time to end a job before its node counts as lost."""
        return self.lost_seconds >= FENCE_MARGIN_SECONDS + LEAST_FENCE_SECONDS

    @property
    def fence_seconds(self) -> float:
        """Where there is no time for it, no sooner than the node is silent: one that is well ends nothing."""
        return self.lost_seconds - FENCE_MARGIN_SECONDS if self.fences else self.silent_seconds

    @property
    def beat_seconds(self) -> float:
        """The longest time between two heartbeats that these limits can stand."""
        return min(self.silent_seconds, self.fence_seconds) / BEATS_WITHIN


class Brake(Frozen):
    """More than `lostFraction` and at least `minNodes` of a pool silent: nothing is declared lost."""

    lost_fraction: Percentage = 0.2
    min_nodes: Annotated[Int, Field(ge=1)] = 3


class Health(Frozen):
    rejection_escalation_count: Annotated[Int, Field(ge=1)] = 3
    rejection_backoff_ms: Annotated[Int, Field(gt=0)] = 5000
    unhealthy_cooldown_ms: Annotated[Int, Field(gt=0)] = 600_000
    device_stable_ms: Count = 60_000
    """How long a device that was sick must report itself well before it counts again."""


class Limits(Frozen):
    spend_per_hour: Annotated[Number, Field(ge=0)] | None = None
    machines_per_job_per_hour: Annotated[Int, Field(ge=1)] = 6


class MigrationDeadlines(Frozen):
    """How long each phase of a move may take, in milliseconds."""

    placing_ms: Annotated[Int, Field(gt=0)] = 30_000
    preparing_ms: Annotated[Int, Field(gt=0)] = 600_000
    awaiting_target_ms: Annotated[Int, Field(gt=0)] = 120_000
    cutover_ms: Annotated[Int, Field(gt=0)] = 30_000
    stopping_source_ms: Annotated[Int, Field(gt=0)] | None = None
    starting_target_ms: Annotated[Int, Field(gt=0)] = 120_000


class Window(Frozen):
    cron: Cron
    time_zone: TimeZone = "UTC"
    duration_seconds: Annotated[Int, Field(gt=0)]


class Disruption(Frozen):
    max_moving: Annotated[Int, Field(ge=1)] = 1
    windows: tuple[Window, ...] = ()


class InterruptionRule(Frozen):
    rebalance: Literal["drain", "cordon"] = "drain"


class CustomRanking(Frozen):
    levels: tuple[tuple[Text, ...] | dict[Text, Number], ...]
    top_n: Annotated[Int, Field(ge=1)] = 1


class PoolSpec(Spec):
    """A set of machines in tiers, and how jobs are spread over them."""

    tiers: Annotated[tuple[Tier, ...], Field(min_length=1)]
    ranking: Literal["lexicographic", "weighted"] | CustomRanking = "lexicographic"
    max_restarts_per_hour: Count = 6
    failure_policies: FailurePolicies = FailurePolicies()
    migration: MigrationDeadlines = MigrationDeadlines()
    disconnect: Disconnect = Disconnect()
    brake: Brake = Brake()
    disruption: Disruption = Disruption()
    interruption: InterruptionRule = InterruptionRule()
    limits: Limits = Limits()
    health: Health = Health()

    @classmethod
    def broken_rules(cls, document: Mapping[str, Any]) -> Iterable[BrokenRule]:
        return pool_rules.broken(document)

    @property
    def fixed_tier(self) -> Tier | None:
        """Where registered nodes belong."""
        return next((tier for tier in self.tiers if tier.scale_out == "fixed"), None)

    def tier(self, name: str) -> Tier | None:
        return next((tier for tier in self.tiers if tier.name == name), None)

    @property
    def lead_seconds(self) -> float:
        """The largest lead of any tier."""
        return max(tier.lead_seconds for tier in self.tiers)


class TierStatus(Frozen):
    name: str
    nodes: int = 0
    prospective: int = 0
    max_nodes: int | None = None
    free_capacity: float = 0


class PoolStatus(Status):
    """`usedCapacityFraction` is claimed over allocatable vCPU, 0 for an empty pool."""

    node_count: int = 0
    live_spares: int = 0
    spare_target: int = 0
    used_capacity_fraction: float = 0
    claimed_capacity: float = 0
    total_capacity: float = 0
    waiting_jobs: int = 0
    tiers: tuple[TierStatus, ...] = ()


class Pool(Resource[PoolSpec, PoolStatus]):
    """A pool as it was read."""
