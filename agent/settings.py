"""What an agent is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class AgentSettings:
    """`server` is `unix:/path` or `host:port`. Capacity in vCPU, None for the machine's own; memory in MiB.

    Pool, labels and address are used by the join that spends the token, and by nothing later.
    """

    node: str
    server: str
    data: Path
    pool: str = ""
    token: str = field(default="", repr=False)
    capacity: float | None = None
    cores: int | None = None
    memory_mib: int | None = None
    zone: str = ""
    address: str = "127.0.0.1"
    capabilities: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    devices: Path | None = None
    """A file that lists them; what a driver tells does not count then."""
    gpus: bool = True
    """Report the GPUs that a driver tells of."""
