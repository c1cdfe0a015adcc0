"""Bundle: the unit of submission, one or two copies of a set of jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from resources.frozen import Bool, Frozen, Instant, Int, Number, Text, Timestamp
from resources.job_entry import JobEntry
from resources.resource import Resource, Spec, Status

Flag = Literal["allow", "forbid"]


class ResiliencePolicy(Frozen):
    """Present: a backup copy runs too. The flags are best effort."""

    pool: Text | None = None
    same_node: Flag = "allow"
    same_az: Flag = "allow"
    same_cloud: Flag = "allow"
    essential: Bool = True


class IntraReplicaPlacement(Frozen):
    same_node_default: Bool = False
    same_az: Literal["hard", "soft", "off"] = "soft"


class UpdateRule(Frozen):
    strategy: Literal["backupFirst", "allAtOnce"] = "backupFirst"
    ready_timeout_seconds: Annotated[Number, Field(gt=0)] = 600


class BundleSpec(Spec):
    """Jobs that belong together, run as a primary and, when asked for, as a backup copy elsewhere."""

    pool: Annotated[Text, Field(min_length=1)]
    on_launch: Literal["avoidSpare", "allowSpare"] = "avoidSpare"
    override_reservation: Bool = False
    start_date_time: Timestamp | None = None
    resilience_policy: ResiliencePolicy | None = None
    intra_replica_placement: IntraReplicaPlacement = IntraReplicaPlacement()
    priority: Annotated[Int, Field(ge=-1000, le=1000)] = 0
    update: UpdateRule = UpdateRule()
    restarted_at: Timestamp | None = None
    jobs: Annotated[tuple[JobEntry, ...], Field(min_length=1, max_length=64)]

    @model_validator(mode="after")
    def _jobs(self) -> BundleSpec:
        names = [entry.job_name for entry in self.jobs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f'jobs: jobName "{twice}" is used twice')
        for index, entry in enumerate(self.jobs):
            for field, others in (("coLocateWith", entry.co_locate_with), ("separateFrom", entry.separate_from)):
                unknown = next((name for name in others if name not in names), None)
                if unknown is not None:
                    raise ValueError(f'jobs[{index}].{field}: no job "{unknown}" in this bundle')
        return self

    @property
    def replica_count(self) -> int:
        return 1 if self.resilience_policy is None else 2


class JobCounts(Frozen):
    total: int = 0
    running: int = 0
    waiting: int = 0
    dormant: int = 0
    dropped: int = 0
    completed: int = 0
    moving: int = 0


class Rollout(Frozen):
    phase: Literal["idle", "backup", "primary", "all", "stopped"] = "idle"
    updated: int = 0
    total: int = 0
    since: Instant | None = None
    """When the backup copy began to change."""
    target: str = ""
    """What is rolled out: a digest of what every job is to run."""


class Broken(Frozen):
    since: Instant
    reason: str
    job: str


class BundleStatus(Status):
    state: Literal["live", "deleting", "broken"] = "live"
    replica_count: int = 0
    jobs: JobCounts = JobCounts()
    rollout: Rollout = Rollout()
    broken: Broken | None = None


class Bundle(Resource[BundleSpec, BundleStatus]):
    """A bundle as it was read."""
