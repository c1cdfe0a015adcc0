"""One node as the placer sees it: what it is, and what the claims on it take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from placement.amounts import NOTHING, Amounts
from placement.boards import WHOLE, Board
from placement.request import SYSTEM_PREFIX, Request
from resources.windows import Hold, lasting, overlap, peak

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
    """The window of all that it holds, half open. None: from ever, for ever."""
    reservation: str | None = None
    """The reservation that holds it, by uid."""
    inside: bool = False
    """A job holds it, and takes it from what the reservation holds."""
    holder: str | None = None
    """Whose jobs may take it: PROJECT/BUNDLE, or one job's PROJECT/BUNDLE.ROLE.JOB."""

    @property
    def timed(self) -> bool:
        return self.start is not None or self.end is not None

    def overlaps(self, start: float | None, end: float | None) -> bool:
        """Whether it is in the way of somebody in that window."""
        return overlap(self.start, self.end, start, end)


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
    """Whether a claim is for a time only."""
    seen: Any = field(init=False, repr=False, compare=False)
    """The window that was asked about last, and the node over it."""
    stamp: object = field(init=False, repr=False, compare=False)
    """The same object for as long as only claims change."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "stamp", object())
        self._count_claims()

    def _count_claims(self) -> None:
        claims = self.claims.values()
        timed = any(claim.timed for claim in claims)
        used = NOTHING
        for claim in claims:
            used = used.plus(claim.amounts)
        put = object.__setattr__
        put(self, "used", _held(list(claims), None, None) if timed else used)
        put(self, "taken_ports", frozenset(port for claim in claims for port in claim.ports))
        put(self, "owners", frozenset(claim.owner for claim in claims))
        put(self, "holders", frozenset(claim.owner for claim in claims if claim.exclusive))
        put(self, "free_units", () if self.board is None else _free(self.board, claims, None, None))
        put(self, "timed", timed)
        put(self, "seen", None)

    @property
    def free(self) -> Amounts:
        """Capacity less claims; below zero where a node turned out smaller than what it carries."""
        return self.capacity.minus(self.used)

    def over(self, request: Request) -> NodeView:
        """The node as it is for the whole of the request's window: what is held then is what is in the way.

        A job whose time is over is there until its claim is dropped, for whoever begins at once.
        """
        if not self.timed:
            return self
        asked = start, end, _ = (request.start, request.end, request.at_once)
        if self.seen is not None and self.seen[0] == asked:
            found: NodeView = self.seen[1]
            return found
        claims = [_lasting(claim, start) if request.at_once else claim for claim in self.claims.values()]
        there = [claim for claim in claims if claim.overlaps(start, end)]
        twin = self.like(
            used=_held(there, start, end),
            taken_ports=frozenset(port for claim in there for port in claim.ports),
            owners=frozenset(claim.owner for claim in there),
            holders=frozenset(claim.owner for claim in there if claim.exclusive),
            free_units=() if self.board is None else _free(self.board, there, start, end),
            timed=False,
        )
        object.__setattr__(self, "seen", (asked, twin))
        return twin

    def like(self, **other: Any) -> NodeView:
        """The same node, other figures: what was worked out for one question, and serves no other."""
        twin = object.__new__(NodeView)
        put = object.__setattr__
        for each in _ALL:
            put(twin, each, other[each] if each in other else getattr(self, each))
        return twin

    @property
    def odd(self) -> bool:
        """Whether more than devices is held of it for a time."""
        if not self.timed:
            return False
        timed = (claim for claim in self.claims.values() if claim.timed)
        return any(claim.exclusive or claim.inside or claim.ports or any(claim.amounts) for claim in timed)

    @property
    def free_always(self) -> tuple[int, ...]:
        """Units by atom that are free whatever the window, bookings for a time apart."""
        if not self.timed or self.board is None:
            return self.free_units
        return _free(self.board, [claim for claim in self.claims.values() if not claim.timed], None, None)

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


def _lasting(claim: Claim, now: float | None) -> Claim:
    return claim._replace(end=lasting(claim.end, now)) if claim.inside else claim


def _held(claims: Sequence[Claim], start: float | None, end: float | None) -> Amounts:
    """The most that is held of each amount at once."""
    return Amounts(*(peak([_hold(c, c.amounts[at]) for c in claims], start, end) for at in range(len(NOTHING))))


def _hold(claim: Claim, amount: int) -> Hold:
    return Hold(amount, claim.start, claim.end, claim.reservation, claim.inside)


def _free(board: Board, claims: Iterable[Claim], start: float | None, end: float | None) -> tuple[int, ...]:
    """Below zero where more is booked than there is. What is booked of atoms that are gone counts nowhere."""
    holds: dict[str, list[Hold]] = {atom: [] for atom in board.ids}
    for claim in claims:
        for atom, units in claim.devices:
            if atom in holds:
                holds[atom].append(_hold(claim, units))
    return tuple(WHOLE - peak(held, start, end) if held else WHOLE for held in holds.values())


_ALL = tuple(each.name for each in fields(NodeView))
_FACTS = (*(each.name for each in fields(NodeView) if each.init and each.name != "claims"), "stamp")


def in_order(reasons: Iterable[str]) -> tuple[str, ...]:
    """NoSchedule reasons in the order in which they are told, each once; unknown ones last, by text."""

    def rank(reason: str) -> tuple[int, str]:
        kind = reason.partition("=")[0]
        return (NO_SCHEDULE_ORDER.index(kind) if kind in NO_SCHEDULE_ORDER else len(NO_SCHEDULE_ORDER), reason)

    return tuple(sorted(set(reasons), key=rank))
