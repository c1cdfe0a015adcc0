"""Sets of atoms that are each joined by NVLink throughout, for several asks at once: every way is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placement.boards import NV, Layout
from placement.picks import Limits, bits, spread, within

Wish = tuple[int, int]
"""The candidates, a bit each, and how many of them."""


def together(layout: Layout, wishes: Sequence[Wish], limits: Limits) -> list[tuple[int, ...]] | None:
    """A set for each, the best for the first, then for the second, and so on; None where they cannot all be had.

    Better is to stand on fewer NUMA nodes, then to have lower ids. `limits` hold for all that they take.
    """
    beside, dead = joined(layout), set[tuple[int, int]]()
    taken, chosen = 0, []
    for at, (mask, count) in enumerate(wishes):
        sets = [(some, tuple(bits(some))) for some in _complete(beside, mask & ~taken, count)]
        sets.sort(key=lambda one: (spread(layout, one[1]), one[1]))
        rest = wishes[at + 1 :]
        found = next((one for one in sets if _possible(beside, rest, taken | one[0], limits, dead)), None)
        if found is None:
            return None
        taken |= found[0]
        chosen.append(found[1])
    return chosen


def joined(layout: Layout) -> list[int]:
    """For each atom the others that an NVLink joins it with."""
    found: list[int] | None = layout.memo.get("joined")
    if found is None:
        found = layout.memo["joined"] = [
            sum(1 << other for other, link in enumerate(row) if link == NV and other != atom)
            for atom, row in enumerate(layout.links)
        ]
    return found


def _possible(
    beside: list[int], wishes: Sequence[Wish], taken: int, limits: Limits, dead: set[tuple[int, int]]
) -> bool:
    """Whether these can be had beside what is taken. `dead` was tried in vain: how many were left, and what taken."""
    if not within(taken, limits):
        return False
    if not wishes:
        return True
    if (len(wishes), taken) in dead:
        return False
    mask, count = wishes[0]
    if any(
        _possible(beside, wishes[1:], taken | some, limits, dead) for some in _complete(beside, mask & ~taken, count)
    ):
        return True
    dead.add((len(wishes), taken))
    return False


def _complete(beside: list[int], mask: int, count: int, some: int = 0) -> Iterator[int]:
    """Every set of so many candidates that are all beside each other, and beside those that it has already."""
    if count == 0:
        yield some
        return
    while mask.bit_count() >= count:
        low = mask & -mask
        mask ^= low
        yield from _complete(beside, mask & beside[low.bit_length() - 1], count - 1, some | low)
