"""Job: one copy of one job entry, made by its bundle, and the one record of where it is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resources.bundle import Flag
from resources.frozen import Bool, Count, Frozen, Instant, Int, Number, Text, Timestamp
from resources.job_entry import Names, Requirements, Work
from resources.resource import Resource, Spec, Status

Phase = Literal["dormant", "scheduled", "pending", "starting", "running", "stopping", "backoff", "dropped", "completed"]


class Forbid(Frozen):
    """Domains of the primary that the backup is to stay out of, best effort."""

    same_node: Flag = "allow"
    same_az: Flag = "allow"
    same_cloud: Flag = "allow"


class JobSpec(Work, Spec):
    """The merged entry (template, entry, backup overrides) and what the bundle says for all of its jobs.

    `coLocateWith` and `separateFrom` hold the whole group, both directions, as job names of the same role.
    """

    bundle: Text
    role: Literal["primary", "backup"]
    index: Annotated[Int, Field(ge=0, le=1)]
    pool: Text
    job_name: Text
    template: Text | None = None
    requirements: Requirements
    active: Bool = Field(default_factory=lambda given: given["start_mode"] == "auto")
    """Unset, it follows `startMode`; the verbs start and stop set it."""
    restarted_at: Timestamp | None = None
    start_date_time: Timestamp | None = None
    on_launch: Literal["avoidSpare", "allowSpare"] = "avoidSpare"
    override_reservation: Bool = False
    priority: Int = 0
    forbid: Forbid = Forbid()
    same_az: Literal["hard", "soft", "off"] = "soft"
    co_locate_with: Names = ()
    separate_from: Names = ()
    exclusive: Bool = False
    single_use: Bool = False
    images: tuple[Text, ...] = ()
    placing_stopped: Bool = False
    """The bundle is broken: running instances stay, nothing is placed any more."""
    history_generation: Count = 0
    """Generation of the bundle.

    A higher one clears the restart history and a terminal verdict, and restarts nothing.
    """


class LastExit(Frozen):
    """How the last instance ended; `ranSeconds` by its node's monotonic clock."""

    at: Instant
    code: int | None = None
    signal: int | None = None
    ran_seconds: Number = 0
    node: str = ""
    instance_key: str = ""
    attempt: int = 0
    reason: str = ""


class Restarts(Frozen):
    """`at` holds the restarts inside the trailing hour that count against the ceiling; the rest are lifetime counts."""

    last_hour: int = 0
    ceiling: int | None = None
    at: tuple[Instant, ...] = ()
    failed: int = 0
    lost: int = 0
    reclaimed: int = 0
    moved: int = 0


class TakenFrom(Frozen):
    """A reservation that a job takes its room from, and leaves when it ends."""

    name: str
    uid: str
    until: Instant | None = None


class JobStatus(Status):
    phase: Phase = "pending"
    node: str | None = None
    tier: str | None = None
    zone: str | None = None
    address: str | None = None
    instance_key: str | None = None
    instance_id: str | None = None
    run_generation: int = 0
    run_fingerprint: str = ""
    attempt: int = 0
    pid: int | None = None
    started_at: Instant | None = None
    ready_at: Instant | None = None
    ports: tuple[str, ...] = ()
    gpu_index: int | None = None
    devices: tuple[str, ...] = ()
    reservation: TakenFrom | None = None
    restarts: Restarts = Restarts()
    next_start_at: Instant | None = None
    last_exit: LastExit | None = None
    migration: str | None = None
    waiting_since: Instant | None = None
    plans: int = 0
    decision: str | None = None
    consecutive_failures: int = 0
    owes_restart: bool = False
    """The next start counts against the ceiling."""
    ever_ran: bool = False
    excluded_node: str | None = None
    """Left out of the first placement after a failure or a refusal there."""
    excluded_reason: str | None = None
    planned_at: Instant | None = None
    """When a plan last found no place."""
    history_generation: int = 0
    """The `historyGeneration` of the spec that the restart history belongs to."""
    terminal: str | None = None
    """Why this job will not go on by itself: `Dropped`, `RestartCeiling`, `InvalidSpec`, then the words."""
    extra: dict[str, Text] = Field(default_factory=dict)


class Job(Resource[JobSpec, JobStatus]):
    """A job as it was read."""
