"""What agents report: facts about a node and about the instances that live on it.

Instants carry the reporter's own time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from resources.canonical import Document
from resources.devices import Device

InstanceState = Literal["prepared", "starting", "running", "ready", "stopping", "exited"]


@dataclass(frozen=True)
class Nic:
    """A network card that is up; `speed_mbit` 0 where the machine does not say."""

    name: str
    addresses: tuple[str, ...] = ()
    speed_mbit: int = 0


@dataclass(frozen=True)
class Driver:
    """What an agent can run instances with; `kinds` is what it takes."""

    id: str
    version: str = ""
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inventory:
    """What a machine has. Capacity in thousandths of a vCPU, memory in MiB."""

    capacity_milli: int
    cores: int
    memory_mib: int = 0
    address: str = ""
    zone: str = ""
    capabilities: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    utilization_cap: float = 1.0
    agent_version: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    machine_id: str = ""
    """What the operating system calls the machine; it stays over boots."""
    nics: tuple[Nic, ...] = ()
    drivers: tuple[Driver, ...] = ()


@dataclass(frozen=True)
class NodeFacts:
    """`last_heartbeat` by the server's clock; `connected` whether its stream is open now.

    `lost_seconds` is the patience that it was promised when it connected: the fences on it go by that.
    """

    node: str
    boot_id: str
    inventory: Inventory
    last_heartbeat: float
    report_seq: int = 0
    connected: bool = False
    lost_seconds: float = 0.0


@dataclass(frozen=True)
class Instance:
    """One process of a job on a node, as its agent last told. Identity: (job uid, instance id)."""

    uid: str
    """uid of the job"""
    id: str
    """instance id: derived from job uid, generation and attempt"""
    key: str
    """`primary`, after a move `primary@3f9c1e2a`"""
    node: str
    attempt: int
    state: InstanceState
    pid: int | None = None
    ports: tuple[str, ...] = ()
    code: int | None = None
    signal: int | None = None
    reason: str = ""
    started_at: float | None = None
    ready_at: float | None = None
    at: float = 0.0
    """when the last change happened, by the agent's clock"""
    ran_seconds: float = 0.0
    ready: bool = True
    """False after misses of its readiness probe while it stays in state ready"""
    not_ready_detail: str = ""
    job: str = ""
    """wire name of the job"""

    @property
    def alive(self) -> bool:
        return self.state != "exited"


@dataclass(frozen=True)
class LogTail:
    """The last bytes that an instance wrote; at most 64 KiB. `attempt` tells current from previous."""

    uid: str
    instance: str
    attempt: int
    text: bytes
    truncated: bool
    at: float
    extra: Document = field(default_factory=dict)
