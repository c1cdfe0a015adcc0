"""Which atoms to take of more than are asked: the best worst link, then the fewest NUMA nodes, then the lowest ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from placement.boards import NV, Layout

EXACT = 16
"""With so many candidates every set is looked at; beyond it one is grown."""

Allowed = Callable[[int], bool]
"""Whether a set, given by its bits, may be taken."""


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


def pick(layout: Layout, mask: int, count: int, allowed: Allowed | None = None) -> tuple[int, ...]:
    """`count` of the candidates; there are as many, and one allowed set among them."""
    if allowed is None:
        key = ("pick", mask, count)
        found: tuple[int, ...] | None = layout.memo.get(key)
        if found is None:
            found = layout.memo[key] = _pick(layout, mask, count, _any)
        return found
    return _pick(layout, mask, count, allowed)


def _pick(layout: Layout, mask: int, count: int, allowed: Allowed) -> tuple[int, ...]:
    atoms = tuple(bits(mask))
    if len(atoms) == count:
        return atoms
    if count == 1:
        return next((atom,) for atom in atoms if allowed(1 << atom))
    if len(atoms) <= EXACT:
        sets = (some for some in combinations(atoms, count) if allowed(_mask(some)))
        return min(sets, key=lambda some: (-worst_link(layout, some), spread(layout, some), some))
    grown = {_grown(layout, atoms, count, seed, allowed) for seed in atoms if allowed(1 << seed)}
    full = [some for some in grown if len(some) == count]
    return min(full, key=lambda some: (-worst_link(layout, some), spread(layout, some), some))


def _grown(layout: Layout, atoms: tuple[int, ...], count: int, seed: int, allowed: Allowed) -> tuple[int, ...]:
    """From one atom on, always the one whose worst link to the set is best, then one on the seed's NUMA node."""
    some, mask, links = [seed], 1 << seed, layout.links
    worst = {atom: links[seed][atom] for atom in atoms if atom != seed}
    while len(some) < count:
        able = [atom for atom in worst if allowed(mask | 1 << atom)]
        if not able:
            break
        best = min(able, key=lambda atom: (-worst[atom], layout.numa[atom] != layout.numa[seed], atom))
        del worst[best]
        some.append(best)
        mask |= 1 << best
        worst = {atom: min(link, links[best][atom]) for atom, link in worst.items()}
    return tuple(sorted(some))


def _mask(atoms: Sequence[int]) -> int:
    return sum(1 << atom for atom in atoms)


def _any(_mask: int) -> bool:
    return True
