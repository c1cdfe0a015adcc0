"""Gangs: several places at once, all or none, near to each other if they can be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from placement.answers import Placed, Unschedulable
from placement.bookings import claim_for
from placement.cascade import Seed
from placement.fleet import FleetView
from placement.policy import PoolPolicy
from placement.request import Request
from placement.shortcut import place

FABRIC = "fabric.domain"


class Gang(NamedTuple):
    """Places of all members in their order; none, and the sentence why, where one has no place."""

    members: tuple[Placed, ...]
    reason: str = ""
    domain: str | None = None
    """The domain that all of them are in."""


def gang(
    request: Request, fleet: FleetView, policy: PoolPolicy, *, size: int, domain: str = FABRIC, seed: Seed = None
) -> Gang:
    """Planned on a view of its own. One domain for all comes first, the best by key; then as few as it goes."""
    together = [
        found
        for value in _domains(request, fleet, domain)
        if (found := _within(request, fleet, policy, size, domain, value, seed)) is not None
    ]
    if together:
        return min(together, key=lambda found: (_worst_first(found), found[0].domain))[0]
    return _anywhere(request, fleet, policy, size, domain, seed)


Group = tuple[Gang, tuple[tuple[int, ...], ...]]
"""A whole gang in one domain, and the keys of its members."""


def _worst_first(group: Group) -> tuple[int, ...]:
    """Level by level the sum over the members, greater sums first."""
    return tuple(-sum(level) for level in zip(*group[1], strict=True))


def _domains(request: Request, fleet: FleetView, domain: str) -> list[str]:
    values = (node.label(domain) for node in fleet.pool(request.pool))
    return sorted({value for value in values if value is not None})


def _within(
    request: Request, fleet: FleetView, policy: PoolPolicy, size: int, domain: str, value: str, seed: Seed
) -> Group | None:
    inside = replace(request, labels={**request.labels, domain: value})
    scratch = fleet.copy()
    members, keys = [], []
    for number in range(size):
        done = place(member(inside, number), scratch, policy, seed=seed, first=policy.ranking.top_n)
        if not isinstance(done.answer, Placed):
            return None
        members.append(done.answer)
        keys.append(next(entry.key for entry in done.ranked if entry.node == done.answer.node))
        book(scratch, inside, done.answer, number)
    return Gang(tuple(members), domain=value), tuple(keys)


def _anywhere(request: Request, fleet: FleetView, policy: PoolPolicy, size: int, domain: str, seed: Seed) -> Gang:
    """Member by member, each in the domain that holds the most so far where it has room, else wherever."""
    scratch = fleet.copy()
    members: list[Placed] = []
    held: dict[str, int] = {}
    for number in range(size):
        own = member(request, number)
        near = sorted(held, key=lambda value: (-held[value], value))
        tries: Iterable[Request] = (
            *(replace(own, labels={**own.labels, domain: value}) for value in near),
            own,
        )
        for asked in tries:
            answer = place(asked, scratch, policy, seed=seed).answer
            if isinstance(answer, Placed):
                break
        if not isinstance(answer, Placed):
            reason = (
                answer.reason if isinstance(answer, Unschedulable) else f"no node of tier {answer.tier} is there yet"
            )
            some = f"{number} of {size} members have a place; for the next: " if number else ""
            return Gang((), some + reason)
        members.append(answer)
        book(scratch, own, answer, number)
        node = scratch.node(answer.node)
        value = None if node is None else node.label(domain)
        if value is not None:
            held[value] = held.get(value, 0) + 1
    return Gang(tuple(members))


def member(request: Request, number: int) -> Request:
    """The request of one member."""
    return replace(request, owner=f"{request.owner}#{number}")


def book(scratch: FleetView, request: Request, placed: Placed, number: int) -> None:
    """What one member has taken is in the way of the next."""
    claim = claim_for(member(request, number), placed.node, f"gang/{number}", placed.devices)
    if request.lease:
        node = scratch.node(placed.node)
        assert node is not None
        claim = claim._replace(amounts=node.over(request).free, exclusive=True)
    scratch.put_claim(claim)
