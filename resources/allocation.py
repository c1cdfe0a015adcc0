"""Allocations: node capacity and ports claimed for one instance of a job."""

from __future__ import annotations

from dataclasses import dataclass

from resources.reference import Ref


@dataclass(frozen=True)
class Allocation:
    """Identity `id` is derived: job uid and instance id. Capacity in thousandths of a vCPU, memory in MiB."""

    id: str
    uid: str
    """uid of the job"""
    owner: Ref
    instance: str
    pool: str
    node: str
    capacity_milli: int
    cores: int = 0
    memory_mib: int = 0
    ports: tuple[str, ...] = ()
    exclusive: bool = False
