"""Devices: what a node has beside amounts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

WHOLE = 1000
"""Units of one device."""


@dataclass(frozen=True)
class Device:
    """One device as its node reports it. Attribute values are texts as JSON spells them."""

    id: str
    kind: str
    """Its class: gpu, nic, …"""
    attributes: dict[str, str] = field(default_factory=dict)
    healthy: bool = True
    bookable: bool = True
    numa: int | None = None
    parent: str | None = None
    """The card that it is a part of."""
    links: dict[str, str] = field(default_factory=dict)
    """Other devices of the node by id: NV, PIX, PXB, PHB, NODE or SYS."""


class Booking(NamedTuple):
    """So many thousandths of one device."""

    device: str
    units: int = WHOLE
