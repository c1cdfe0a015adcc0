"""The devices of one node: atoms with their health and links, and which of them are alike from node to node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

WHOLE = 1000
"""Units of one atom."""
LINKS = ("?", "SYS", "NODE", "PHB", "PXB", "PIX", "NV")
"""Worst first; "?" is a link that nobody told of."""
UNKNOWN, NV = 0, len(LINKS) - 1


class Atom(NamedTuple):
    """One device that is booked as a whole, or in thousandths of it.

    `parent` is the card of a MIG instance or slot; `position` counts the atoms of its class as their node lists them.
    """

    id: str
    kind: str
    """Its class: gpu, nic, …"""
    attributes: tuple[tuple[str, str], ...] = ()
    """Values as JSON spells them; text as it is."""
    numa: int | None = None
    healthy: bool = True
    bookable: bool = True
    parent: str | None = None
    position: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What nodes of one machine type share: their atoms in the order of ids, but without them.

    Tables of picks and of verdicts are kept here, so that a type is worked out once.
    """

    kinds: tuple[str, ...]
    attributes: tuple[Mapping[str, str], ...]
    numa: tuple[int | None, ...]
    usable: tuple[bool, ...]
    """Healthy and bookable."""
    links: tuple[tuple[int, ...], ...]
    positions: tuple[int, ...]
    by_kind: Mapping[str, int]
    """A bit for each atom of a class."""
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    def count(self, kind: str) -> int:
        return self.by_kind.get(kind, 0).bit_count()


@dataclass(frozen=True, slots=True)
class Board:
    """The atoms of one node, sorted by id, and the layout that they have."""

    ids: tuple[str, ...]
    layout: Layout
    parts: Any = field(repr=False)
    """What the layout was made from: equal parts are equal boards."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Board) and (self.ids, self.parts) == (other.ids, other.parts)

    def __hash__(self) -> int:
        return hash(self.ids)


def board(atoms: Iterable[Atom], links: Mapping[tuple[str, str], str] | None = None) -> Board:
    """`links` by pairs of ids, in either order; unknown words and pairs stay unknown."""
    ordered = sorted(atoms)
    ids = tuple(atom.id for atom in ordered)
    known = {frozenset(pair): rank_of(word) for pair, word in (links or {}).items()}
    parts = tuple(
        (atom.kind, atom.attributes, atom.numa, atom.healthy and atom.bookable, atom.position) for atom in ordered
    )
    matrix = tuple(
        tuple(_link(ordered[a], ordered[b], known) if a != b else NV for b in range(len(ids))) for a in range(len(ids))
    )
    return Board(ids, _layout(parts, matrix), (parts, matrix))


def rank_of(word: str) -> int:
    """NV4 and NV18 are NV."""
    plain = "NV" if word.startswith("NV") and word[2:].isdecimal() else word
    return LINKS.index(plain) if plain in LINKS else UNKNOWN


def _link(a: Atom, b: Atom, known: Mapping[frozenset[str], int]) -> int:
    """Parts of one card are as near to each other as can be."""
    if a.parent is not None and a.parent == b.parent:
        return NV
    return known.get(frozenset((a.id, b.id)), UNKNOWN)


@lru_cache(maxsize=4096)
def _layout(parts: tuple[tuple[Any, ...], ...], matrix: tuple[tuple[int, ...], ...]) -> Layout:
    kinds = tuple(part[0] for part in parts)
    by_kind: dict[str, int] = {}
    for at, kind in enumerate(kinds):
        by_kind[kind] = by_kind.get(kind, 0) | 1 << at
    return Layout(
        kinds,
        tuple(dict(part[1]) for part in parts),
        tuple(part[2] for part in parts),
        tuple(part[3] for part in parts),
        matrix,
        tuple(part[4] for part in parts),
        by_kind,
    )
