"""How a pool wants its work placed: ordered tiers and a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from placement.amounts import Amounts
from placement.boards import Board
from placement.errors import InvalidRequest
from placement.plugins import Plugin
from placement.ranking import LEXICOGRAPHIC, Ranking

Packing = Literal["binpack", "spread"]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of machine that a tier can start."""

    instance_type: str
    capacity: Amounts
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that such a machine will carry, capabilities included (capability_labels spells those)."""
    images: frozenset[str] = frozenset()
    board: Board | None = None
    """The devices that such a machine will have; what links them is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPolicy:
    """One homogeneous part of a pool. `max_nodes` counts the machines on their way too; None is no limit."""

    name: str
    kind: str = "local-servers"
    packing: Packing = "binpack"
    elastic: bool = False
    shapes: tuple[Shape, ...] = ()
    zones: tuple[str, ...] = ()
    max_nodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPolicy:
    """Tiers in the order in which they are tried. `provisioning` says whether anybody can start machines at all."""

    tiers: tuple[TierPolicy, ...]
    ranking: Ranking = LEXICOGRAPHIC
    archived: bool = False
    provisioning: bool = False
    plugins: tuple[Plugin, ...] = ()

    def __post_init__(self) -> None:
        names = [tier.name for tier in self.tiers]
        for name in names:
            if names.count(name) > 1:
                raise InvalidRequest("tiers", f'"{name}" stands there twice')
