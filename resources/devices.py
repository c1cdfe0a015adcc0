"""Devices: what a node has beside amounts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

WHOLE = 1000
"""Units of one device."""
ID = re.compile(r"[!-+\--~]{1,253}", re.ASCII)
"""Printable, without a blank, and without the comma that joins ids for a job."""
CLASS = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
IDS = "1 to 253 printable ASCII characters, no blank and no comma"
CLASSES = "1 to 63 letters, digits, dots, dashes or underscores, with a letter or a digit at both ends"
MOST_NUMA = 65535


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
