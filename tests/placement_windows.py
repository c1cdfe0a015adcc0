"""What is held over time again, in the plainest way: every instant at which something changes is looked at."""

from __future__ import annotations

from typing import Any, NamedTuple

NEVER, EVER = float("-inf"), float("inf")


class Look(NamedTuple):
    """How a node is looked at: as it is, or as what one reservation holds of it (`gone` are its own claims).

    `amounts` and `devices` are what is left of what it holds; None where it holds nothing of the kind.
    """

    gone: frozenset[str] = frozenset()
    amounts: tuple[int | None, ...] = (None, None, None)
    devices: dict[str, int] | None = None
    end: Any = "as asked"


ALL = Look()


def window(request, look):
    end = request.end if look.end == "as asked" else look.end
    return NEVER if request.start is None else request.start, EVER if end is None else end


def span(claim, request):
    begin, end = NEVER if claim.start is None else claim.start, EVER if claim.end is None else claim.end
    overdue = claim.inside and request.at_once and request.start is not None and end <= request.start
    return begin, EVER if overdue else end


def there(world, request, node, look=ALL):
    """Claims on the node that have an instant in common with the window."""
    first, last = window(request, look)
    found = []
    for claim in world.claims:
        begin, end = span(claim, request)
        before = end <= first and first != NEVER
        after = begin >= last and last != EVER
        if claim.node == node.name and claim.allocation not in look.gone and not before and not after:
            found.append(claim)
    return found


def most(claims, request, look, measure):
    first, last = window(request, look)
    instants = {first, *(span(c, request)[0] for c in claims)}
    return max(held(claims, request, at, measure) for at in instants if first <= at < last or at == first)


def held(claims, request, at, measure):
    alone, own, inside = 0, {}, {}
    for claim in claims:
        begin, end = span(claim, request)
        if not (begin <= at and (at < end or at == NEVER)):
            continue
        if claim.reservation is None:
            alone += measure(claim)
        else:
            part = inside if claim.inside else own
            part[claim.reservation] = part.get(claim.reservation, 0) + measure(claim)
    return alone + sum(max(own.get(uid, 0), inside.get(uid, 0)) for uid in {**own, **inside})


def near_by(capacity, used, left):
    return capacity if left is None else min(capacity, used + left)


def look_into(world, request, nodes):
    """Parts of reservations that are meant for the request and have begun: (node, uid, end, look)."""
    now = request.start
    for node in nodes:
        for uid in sorted({claim.reservation for claim in world.claims if claim.reservation is not None}):
            own = [c for c in world.claims if c.node == node.name and c.reservation == uid and not c.inside]
            own = [c for c in own if c.holder in request.holders and active(c, now)]
            if own and uses(request, own):
                ends = [claim.end for claim in own if claim.end is not None]
                end = min(ends, default=None)
                yield node, uid, end, part(world, request, node, uid, own, end)


def active(claim, now):
    if now is None:
        return claim.start is None
    return (NEVER if claim.start is None else claim.start) <= now < (EVER if claim.end is None else claim.end)


def uses(request, own):
    asked = request.room or request.amounts
    devices = (request.devices or request.group_devices) and any(claim.devices for claim in own)
    return devices or any(asked[at] and sum(claim.amounts[at] for claim in own) for at in range(3))


def part(world, request, node, uid, own, end):
    last = EVER if end is None else end
    mates = [c for c in world.claims if c.node == node.name and c.reservation == uid and c.inside]
    mates = [
        c
        for c in mates
        if not (c.end is not None and request.start is not None and c.end <= request.start)
        and not (c.start is not None and c.start >= last)
    ]
    amounts = []
    for at in range(3):
        has = sum(claim.amounts[at] for claim in own)
        amounts.append(has - sum(claim.amounts[at] for claim in mates) if has else None)
    devices = None
    if node.board is not None and any(claim.devices for claim in own):
        devices = dict.fromkeys(node.board.ids, 0)
        for claims, sign in ((own, 1), (mates, -1)):
            for claim in claims:
                for atom, units in claim.devices:
                    devices[atom] = devices.get(atom, 0) + sign * units
    return Look(frozenset(claim.allocation for claim in own), tuple(amounts), devices, end)
