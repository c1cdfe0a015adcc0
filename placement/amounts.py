"""Amounts of what a node has and a job takes, as integers in the smallest unit."""

from __future__ import annotations

from typing import NamedTuple

from resources.quantities import plain

RESOURCES = ("vcpu", "cores", "memory")


class Amounts(NamedTuple):
    """Thousandths of a vCPU, whole cores, MiB of memory. The fields stand in the order of RESOURCES."""

    capacity_milli: int = 0
    cores: int = 0
    memory_mib: int = 0

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(self[0] + other[0], self[1] + other[1], self[2] + other[2])

    def minus(self, other: Amounts) -> Amounts:
        return Amounts(self[0] - other[0], self[1] - other[1], self[2] - other[2])

    def covers(self, asked: Amounts) -> bool:
        """Whether each asked amount is there; what is not asked for is not looked at."""
        return all(have >= want for have, want in zip(self, asked, strict=True) if want)


NOTHING = Amounts()


def spell(resource: str, amount: int) -> str:
    """The amount as people read it: vcpu in units with its thousandths trimmed, everything else as it is."""
    return plain(amount) if resource == "vcpu" else str(amount)


def shortage(free: Amounts, asked: Amounts) -> str | None:
    """The first resource that is short, as `1 of 3 vcpu free`; None if all fit."""
    for resource, have, want in zip(RESOURCES, free, asked, strict=True):
        if want and have < want:
            return f"{spell(resource, max(have, 0))} of {spell(resource, want)} {resource} free"
    return None
