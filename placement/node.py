"""One node as the placer sees it: what it is, and what the claims on it take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from placement.amounts import NOTHING, Amounts
from placement.boards import WHOLE, Board
from placement.request import SYSTEM_PREFIX

NO_SCHEDULE_ORDER = ("unreachable", "no inventory", "terminating", "unhealthy", "not ready", "cordoned", "dedicated")


class Claim(NamedTuple):
    """What one allocation holds on one node. A job on the move has two."""

    allocation: str
    node: str
    owner: str
    amounts: Amounts
    ports: tuple[str, ...] = ()
    exclusive: bool = False
    tenant: str | None = None
    devices: tuple[tuple[str, int], ...] = ()
    """Atoms by id with the units that are booked of each."""
    start: float | None = None
    end: float | None = None
    """The window of its bookings, half open. None: from ever, for ever."""

    @property
    def timed(self) -> bool:
        return self.start is not None or self.end is not None

    def overlaps(self, start: float | None, end: float | None) -> bool:
        """Whether the bookings are in the way of somebody in that window."""
        ended = self.end is not None and start is not None and self.end <= start
        later = self.start is not None and end is not None and self.start >= end
        return not ended and not later


class Spare(NamedTuple):
    """The spare tag of a node. Once consumed it is an ordinary node for good."""

    reserved_for: tuple[str, ...] = ()
    exclusive: bool = False
    consumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node's facts and its claims. Capacity is already total x utilizationCap, rounded down once."""

    name: str
    pool: str
    capacity: Amounts
    tier: str = ""
    zone: str = ""
    cloud: str = ""
    """Kind of its tier: aws, oci, local-servers."""
    booted: bool = True
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Key to (value, source); a label of the system's own prefix counts only from the source "system"."""
    no_schedule: tuple[str, ...] = ()
    images: frozenset[str] = frozenset()
    spare: Spare | None = None
    board: Board | None = None
    """Its devices; None where it has none."""
    claims: Mapping[str, Claim] = field(default_factory=dict)
    used: Amounts = field(init=False, repr=False, compare=False)
    taken_ports: frozenset[str] = field(init=False, repr=False, compare=False)
    owners: frozenset[str] = field(init=False, repr=False, compare=False)
    holders: frozenset[str] = field(init=False, repr=False, compare=False)
    """Owners that hold the node for themselves and their group."""
    free_units: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """By atom of the board, what no claim books, at whatever time."""
    timed: bool = field(init=False, repr=False, compare=False)
    """Whether a claim books devices for a time only."""
    stamp: object = field(init=False, repr=False, compare=False)
    """The same object for as long as only claims change."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "stamp", object())
        self._count_claims()

    def _count_claims(self) -> None:
        claims = self.claims.values()
        used = NOTHING
        for claim in claims:
            used = used.plus(claim.amounts)
        put = object.__setattr__
        put(self, "used", used)
        put(self, "taken_ports", frozenset(port for claim in claims for port in claim.ports))
        put(self, "owners", frozenset(claim.owner for claim in claims))
        put(self, "holders", frozenset(claim.owner for claim in claims if claim.exclusive))
        put(self, "free_units", () if self.board is None else _free(self.board, claims))
        put(self, "timed", self.board is not None and any(claim.devices and claim.timed for claim in claims))

    @property
    def free(self) -> Amounts:
        """Capacity less claims; below zero where a node turned out smaller than what it carries."""
        return self.capacity.minus(self.used)

    def free_over(self, start: float | None, end: float | None) -> tuple[int, ...]:
        """Units by atom that are free for the whole of a window."""
        if not self.timed or self.board is None:
            return self.free_units
        return _free(self.board, [claim for claim in self.claims.values() if claim.overlaps(start, end)])

    @property
    def free_always(self) -> tuple[int, ...]:
        """Units by atom that are free whatever the window, bookings for a time apart."""
        if not self.timed or self.board is None:
            return self.free_units
        return _free(self.board, [claim for claim in self.claims.values() if not claim.timed])

    @property
    def unconsumed_spare(self) -> bool:
        """Tagged spare, never taken and carrying no job."""
        return self.spare is not None and not self.spare.consumed and not self.claims

    def label(self, key: str) -> str | None:
        """The label's value as far as placement believes it."""
        found = self.labels.get(key)
        if found is None or (key.startswith(SYSTEM_PREFIX) and found[1] != "system"):
            return None
        return found[0]

    def with_claims(self, claims: Mapping[str, Claim]) -> NodeView:
        """The same node with other claims. By hand, as this is half the cost of a write to the fleet view."""
        twin = object.__new__(NodeView)
        put = object.__setattr__
        for name in _FACTS:
            put(twin, name, getattr(self, name))
        put(twin, "claims", claims)
        twin._count_claims()
        return twin


def _free(board: Board, claims: Iterable[Claim]) -> tuple[int, ...]:
    """Below zero where more is booked than there is. What is booked of atoms that are gone counts nowhere."""
    free = dict.fromkeys(board.ids, WHOLE)
    for claim in claims:
        for atom, units in claim.devices:
            if atom in free:
                free[atom] -= units
    return tuple(free.values())


_FACTS = (*(each.name for each in fields(NodeView) if each.init and each.name != "claims"), "stamp")


def in_order(reasons: Iterable[str]) -> tuple[str, ...]:
    """NoSchedule reasons in the order in which they are told, each once; unknown ones last, by text."""

    def rank(reason: str) -> tuple[int, str]:
        kind = reason.partition("=")[0]
        return (NO_SCHEDULE_ORDER.index(kind) if kind in NO_SCHEDULE_ORDER else len(NO_SCHEDULE_ORDER), reason)

    return tuple(sorted(set(reasons), key=rank))
