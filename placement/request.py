"""What one job asks of a place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from placement.amounts import RESOURCES, Amounts
from placement.devices import Ask, Wanted, wanted
from placement.errors import InvalidRequest

ANY_VALUE = "*"
CAPABILITY_PREFIX = "rmctl/cap."
DRIVER_PREFIX = "rmctl/driver."
SYSTEM_PREFIX = "rmctl/"
PORT = re.compile(r"[1-9]\d{0,4}/(tcp|udp|sctp)")

SameZone = Literal["hard", "soft", "off"]
SparePreference = Literal["avoid", "prefer", "any"]


class Forbid(NamedTuple):
    """Failure domains of the primary that a backup should stay out of: best effort, never a filter."""

    nodes: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()
    clouds: frozenset[str] = frozenset()


NO_FORBID = Forbid()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One job to place. Owners are PROJECT/BUNDLE.ROLE.JOB; the caller judges start times."""

    owner: str
    pool: str
    bundle: str
    role: str
    job: str
    amounts: Amounts
    room: Amounts | None = None
    """What the node must have free; the whole co-located group for its first mover. None: the job's own amounts."""
    ports: tuple[str, ...] = ()
    group_ports: tuple[str, ...] = ()
    """Ports of the whole group, for its first mover."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Label to value, or "*" for any value, in the order in which a missing one is named."""
    pin: str | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)
    second_chance: frozenset[str] = frozenset()
    """Excluded nodes that are asked once more before a machine is provisioned or the answer is no."""
    exclusive: bool = False
    together: frozenset[str] = frozenset()
    separate: frozenset[str] = frozenset()
    forbid: Forbid = NO_FORBID
    same_zone: SameZone = "off"
    peers: frozenset[str] = frozenset()
    """Owners of the same replica, for same_zone."""
    images: frozenset[str] = frozenset()
    template: str | None = None
    override_reservation: bool = False
    spare: SparePreference = "any"
    tenant: str | None = None
    devices: tuple[Ask, ...] = ()
    group_devices: tuple[Ask, ...] = ()
    """What the rest of the group asks, for its first mover."""
    lease: bool = False
    """The whole node, whatever keeps others away from it; another tenant's dedication still does."""
    start: float | None = None
    end: float | None = None
    """The window for which all of it must be free, half open. None: from ever, for ever."""
    at_once: bool = True
    """It begins with its placement, so whoever is still there is in its way."""
    holders: frozenset[str] = frozenset()
    """The names under which a reservation may be meant for this job: PROJECT/BUNDLE, and its own."""
    want: Wanted | None = field(init=False, repr=False, compare=False)
    """All devices that must be free; None where none are asked for."""

    def __post_init__(self) -> None:
        asks = self.devices + self.group_devices
        object.__setattr__(self, "want", wanted(asks, len(self.devices)) if asks else None)
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise InvalidRequest("end", "must be after the start")
        for name, amounts in (("amounts", self.amounts), ("room", self.asked)):
            _check_amounts(name, amounts)
            if self.want is None and not self.lease and not any(amounts):
                raise InvalidRequest(name, "asks for nothing")
        if not self.asked.covers(self.amounts):
            raise InvalidRequest("room", "less than the job's own amounts")
        for port in self.asked_ports:
            if not PORT.fullmatch(port) or int(port.split("/")[0]) > 65535:
                raise InvalidRequest("ports", f'"{port}" is not PORT/tcp, PORT/udp or PORT/sctp')

    @property
    def asked(self) -> Amounts:
        """What the node must have free."""
        return self.amounts if self.room is None else self.room

    @property
    def asked_ports(self) -> tuple[str, ...]:
        """Ports that must be free: the job's own, then the rest of its group's."""
        if not self.group_ports:
            return self.ports
        return tuple(dict.fromkeys(self.ports + self.group_ports))

    @property
    def allies(self) -> frozenset[str]:
        """Owners that may share an exclusive node with this job: itself and its co-located group."""
        return self.together | {self.owner}


def capability_labels(capabilities: tuple[str, ...]) -> dict[str, str]:
    """The label requirements that a list of capabilities stands for."""
    return {CAPABILITY_PREFIX + name: ANY_VALUE for name in capabilities}


def driver_label(driver: str) -> str:
    """The label of a node that has this driver: what its agent starts jobs with."""
    return DRIVER_PREFIX + driver


def spoken(owner: str) -> str:
    """PROJECT/BUNDLE.ROLE.JOB as people say it: BUNDLE/ROLE/JOB."""
    return owner.rpartition("/")[2].replace(".", "/")


def _check_amounts(name: str, amounts: Amounts) -> None:
    for resource, amount in zip(RESOURCES, amounts, strict=True):
        if type(amount) is not int or amount < 0:
            raise InvalidRequest(name, f"{resource} must be a whole number of its smallest unit, not {amount!r}")
