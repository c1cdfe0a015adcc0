"""The devices of a node again, in the plainest way: every assignment is looked at, and the best one taken."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from resources.selectors import ANYTHING, formatted
from tests.placement_windows import ALL, most, there

SCALE = 1 << 20
WORTH = {"NV": 10, "PIX": 8, "PXB": 6, "PHB": 4, "NODE": 2, "SYS": 0, "?": 5}
ORDER = ["?", "SYS", "NODE", "PHB", "PXB", "PIX", "NV"]


def asks_of(request):
    return [*request.devices, *request.group_devices]


def free_of(world, request, node, look=ALL):
    """By id, less what is booked at once in the window."""
    claims = there(world, request, node, look)
    free = {}
    for atom in node.board.ids:
        free[atom] = 1000 - most(claims, request, look, lambda claim, atom=atom: units_of(claim, atom))
        if look.devices is not None:
            free[atom] = min(free[atom], look.devices[atom])
    return free


def units_of(claim, atom):
    return sum(units for name, units in claim.devices if name == atom)


def able(world, request, node, ask, units, look=ALL):
    """Ids of the atoms that would do."""
    layout, found = node.board.layout, []
    free = free_of(world, request, node, look)
    for at, atom in enumerate(node.board.ids):
        if layout.kinds[at] != ask.kind or not layout.usable[at] or free[atom] < units:
            continue
        if all(e.holds(layout.attributes[at].get(e.key) or node.label(e.key)) for e in ask.selector.expressions):
            found.append(atom)
    return found


def link(node, a, b):
    at, other = node.board.ids.index(a), node.board.ids.index(b)
    return ORDER[node.board.layout.links[at][other]]


def worst(node, atoms):
    words = [link(node, a, b) for a, b in combinations(atoms, 2)]
    return min(words, key=ORDER.index) if words else None


def numa_nodes(node, atoms):
    return len({node.board.layout.numa[node.board.ids.index(atom)] for atom in atoms})


def assignment(world, request, node, tier, look=ALL):
    """Atoms by ask, or the reason that there are none."""
    asks = asks_of(request)
    if node.board is None:
        ask = asks[0]
        return f"fits: 0 of {ask.count if ask.units == 1000 else float(Fraction(ask.units, 1000))} {ask.kind} free"
    free = free_of(world, request, node, look)
    groups = [able(world, request, node, ask, ask.units, look) for ask in asks]
    for ask, group in zip(asks, groups, strict=True):
        if len(group) < ask.count:
            any_kind = replace(ask, selector=ANYTHING)
            if ask.units == 1000:
                every = len(able(world, request, node, any_kind, 1000, look))
                return short(len(group), every, ask.count, ask)
            best, every = (
                max([0, *(free[atom] for atom in able(world, request, node, one, -(10**9), look))])
                for one in (ask, any_kind)
            )
            return short(best / 1000, every / 1000, ask.units / 1000, ask)
    for size in range(1, len(asks) + 1):
        for some in combinations(range(len(asks)), size):
            lacking = sum(asks[at].count for at in some) - len({atom for at in some for atom in groups[at]})
            if lacking > 0:
                last = asks[some[-1]]
                return f"fits: {last.count - min(lacking, last.count)} of {last.count} {last.kind} free"
    order = sorted(
        range(len(asks)), key=lambda at: (asks[at].count == 1, asks[at].topology == "any", -asks[at].count, at)
    )
    linked = [at for at, ask in enumerate(asks) if ask.topology == "nvlink-all" and ask.count > 1]
    joined = [
        made for made in assignments(asks, groups, order, ()) if all(worst(node, made[at]) == "NV" for at in linked)
    ]
    if joined:
        return min(joined, key=lambda made: [rank(node, tier, free, asks[at], made[at]) for at in order])
    for at in linked:
        if all(worst(node, some) != "NV" for some in combinations(groups[at], asks[at].count)):
            return f"topology: no NVLink-complete set of {asks[at].count} {asks[at].kind}"
    first = asks[linked[0]]
    return f"topology: no NVLink-complete set of {first.count} {first.kind} beside what else is asked for"


def short(some, every, wanted, ask):
    more = f" where {formatted(ask.selector)} ({every:g} of any)" if every > some else ""
    return f"fits: {some:g} of {wanted:g} {ask.kind} free{more}"


def assignments(asks, groups, order, taken):
    if not order:
        yield {}
        return
    at = order[0]
    for some in combinations([atom for atom in groups[at] if atom not in taken], asks[at].count):
        for rest in assignments(asks, groups, order[1:], (*taken, *some)):
            yield {at: some, **rest}


def rank(node, tier, free, ask, atoms):
    if ask.units < 1000:
        units = free[atoms[0]]
        place = node.board.layout.positions[node.board.ids.index(atoms[0])]
        return (units if tier is None or tier.packing == "binpack" else -units, place)
    return (-ORDER.index(worst(node, atoms) or "NV"), numa_nodes(node, atoms) if len(atoms) > 1 else 0, atoms)


def devices_of(world, request, node, tier, look=ALL):
    return assignment(world, request, node, tier, look) if asks_of(request) else {}


def granted(world, request, node, tier, look=ALL):
    found = devices_of(world, request, node, tier, look)
    return tuple((atom, ask.units) for at, ask in enumerate(request.devices) for atom in found[at])


def topology(world, request, node, tier, look=ALL):
    found = devices_of(world, request, node, tier, look)
    words = [worst(node, atoms) for atoms in found.values() if len(atoms) > 1]
    if not words:
        return SCALE // 2
    return SCALE * WORTH[min(words, key=ORDER.index)] // 10


def device_shares(world, request, node, look=ALL):
    shares = []
    for kind in dict.fromkeys(ask.kind for ask in asks_of(request)):
        atoms = [atom for at, atom in enumerate(node.board.ids) if node.board.layout.kinds[at] == kind]
        free = free_of(world, request, node, look)
        busy = sum(1000 - max(free[atom], 0) for atom in atoms)
        asked = sum(ask.count * ask.units for ask in asks_of(request) if ask.kind == kind)
        shares.append(Fraction(busy + asked, 1000 * len(atoms)))
    return shares
