"""Which atoms to take of more than are asked: the best worst link, then the fewest NUMA nodes, then the lowest ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, combinations
from operator import or_

from placement.boards import LINKS, NV, Layout

EXACT = 16
"""With so many candidates every set is looked at; beyond it one is grown."""

Limits = tuple[tuple[int, int], ...]
"""Of the atoms of each mask at most so many may be taken: the rest is what others cannot do without."""


def bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def worst_link(layout: Layout, atoms: Sequence[int]) -> int:
    """The worst of all pairs; one atom is as near to itself as can be."""
    links = layout.links
    return min((links[a][b] for a, b in combinations(atoms, 2)), default=NV)


def spread(layout: Layout, atoms: Sequence[int]) -> int:
    """How many NUMA nodes the atoms stand on; not knowing is one of its own."""
    return len({layout.numa[atom] for atom in atoms})


def pick(layout: Layout, mask: int, count: int, limits: Limits = ()) -> tuple[int, ...]:
    """`count` of the candidates; there are as many, and one set among them that keeps within the limits."""
    key = ("pick", mask, count, limits)
    found: tuple[int, ...] | None = layout.memo.get(key)
    if found is None:
        found = layout.memo[key] = _pick(layout, mask, count, limits)
    return found


def within(some: int, limits: Limits) -> bool:
    return all((some & among).bit_count() <= most for among, most in limits)


def numa_nodes(layout: Layout) -> Mapping[int | None, int]:
    """A bit for each atom of a NUMA node; not knowing is one of its own."""
    found: dict[int | None, int] | None = layout.memo.get("numa")
    if found is None:
        found = {}
        for atom, node in enumerate(layout.numa):
            found[node] = found.get(node, 0) | 1 << atom
        layout.memo["numa"] = found
    return found


def near(layout: Layout) -> Sequence[tuple[int, ...]]:
    """For each atom the others with a link as good as the best that there is, the next, and so on to the worst."""
    found: list[tuple[int, ...]] | None = layout.memo.get("near")
    if found is None:
        words = sorted({link for row in layout.links for link in row} | {NV}, reverse=True)
        found = layout.memo["near"] = [_near(row, atom, words) for atom, row in enumerate(layout.links)]
    return found


def _near(row: tuple[int, ...], atom: int, words: list[int]) -> tuple[int, ...]:
    just = dict.fromkeys(words, 0)
    for other, link in enumerate(row):
        if other != atom:
            just[link] |= 1 << other
    return tuple(accumulate((just[word] for word in words), or_))


def _pick(layout: Layout, mask: int, count: int, limits: Limits) -> tuple[int, ...]:
    atoms = tuple(bits(mask))
    if len(atoms) == count:
        return atoms
    if count == 1:
        return next((atom,) for atom in atoms if within(1 << atom, limits))
    if len(atoms) <= EXACT:
        sets = (some for some in combinations(atoms, count) if not limits or within(_mask(some), limits))
        return min(sets, key=lambda some: (-worst_link(layout, some), spread(layout, some), some))
    return _best_grown(layout, mask, count, limits)


def _best_grown(layout: Layout, mask: int, count: int, limits: Limits) -> tuple[int, ...]:
    """The best of the sets that are grown from each candidate."""
    nodes, links = list(numa_nodes(layout).values()), near(layout)
    nearest = min(at for atom in bits(mask) for at, others in enumerate(links[atom]) if others & mask)
    best, worst, across = 0, len(LINKS), 0
    for seed in bits(mask):
        grown = _grown(layout, mask, count, seed, limits, worst) if within(1 << seed, limits) else None
        if grown is None or grown[0] == best:
            continue
        some, link = grown
        wide = sum(1 for node in nodes if node & some)
        if (link, wide) < (worst, across) or ((link, wide) == (worst, across) and _lower(some, best)):
            best, worst, across = some, link, wide
            if worst == nearest and _unbeaten(mask, count, nodes, best, across):
                break
    return tuple(bits(best))


def _unbeaten(mask: int, count: int, nodes: list[int], best: int, across: int) -> bool:
    """Whether no set of the candidates stands on fewer NUMA nodes, or on as many with lower ids."""
    sizes = sorted(((mask & node).bit_count() for node in nodes), reverse=True)
    if across > next(few for few, total in enumerate(accumulate(sizes), 1) if total >= count):
        return False
    home = next(node for node in nodes if node & best) if across == 1 else mask
    lower = mask & ~best & ((1 << best.bit_length()) - 1)
    return not lower & (home | ((best & -best) - 1))


def _grown(layout: Layout, mask: int, count: int, seed: int, limits: Limits, enough: int) -> tuple[int, int] | None:
    """From one atom on, always the one whose worst link to the set is best, then one on the seed's NUMA node.

    The set, and its worst link counted from the best one; None where it ends too small, or with a worse than `enough`.
    """
    links, home = near(layout), numa_nodes(layout)[layout.numa[seed]]
    some, worst, last = 0, 0, seed
    left = [mask] * len(links[seed])
    room, full = dict(limits), reduce(or_, (among for among, most in limits if not most), 0)
    while True:
        some |= 1 << last
        for among in [among for among in room if among >> last & 1]:
            room[among] -= 1
            if not room[among]:
                full |= among
        if some.bit_count() == count:
            return some, worst
        left = [reach & also for reach, also in zip(left, links[last], strict=True)]
        at, able = next(((at, reach & ~full) for at, reach in enumerate(left) if reach & ~full), (len(LINKS), 0))
        worst = max(worst, at)
        if worst > enough or not able:
            return None
        able = able & home or able
        last = (able & -able).bit_length() - 1


def _lower(one: int, other: int) -> bool:
    """Whether its ids come first, of two sets of one size."""
    apart = one ^ other
    return bool(apart & -apart & one)


def _mask(atoms: Sequence[int]) -> int:
    return sum(1 << atom for atom in atoms)
