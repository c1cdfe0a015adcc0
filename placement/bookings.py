"""The devices of a node held against what a request asks, and the claim that placing it makes."""

from __future__ import annotations

from typing import NamedTuple

from placement.boards import WHOLE, Layout
from placement.devices import Ask, Verdict, Wanted, verdict
from placement.node import Claim, NodeView
from placement.picked import picked
from placement.plugins import Run
from placement.request import Request
from resources.quantities import plain


class Granted(NamedTuple):
    """One atom that a placed job gets, whole or in part; `position` counts the node's atoms of that class."""

    id: str
    kind: str
    units: int
    position: int


class Inside(NamedTuple):
    """The reservation that a place is in: uid, name, the end of its window, and whose dedicated nodes it may use."""

    reservation: str
    name: str
    end: float | None = None
    tenant: str | None = None


NO_DEVICES = Verdict()


def devices_on(request: Request, node: NodeView, *, binpack: bool, plugins: Run | None = None) -> Verdict:
    """What the node answers; nothing asked is nothing taken."""
    want = request.want
    if want is None:
        return NO_DEVICES
    board = node.board
    if board is None:
        return Verdict(filter="fits", reason=_none_of(want.asks[0]))
    labels = tuple([node.label(key) for key in want.keys])
    free = node.free_units
    found = verdict(board.layout, free, want, labels, binpack=binpack)
    if plugins is None or found.filter == "fits" or plugins.pickers.keys().isdisjoint(want.kinds):
        return found
    return picked(request, node, plugins, binpack=binpack)


def granted(request: Request, node: NodeView, *, binpack: bool, plugins: Run | None = None) -> tuple[Granted, ...]:
    """The atoms of the job's own asks, its group's left out. Empty where it does not fit."""
    want, board = request.want, node.board
    if want is None or board is None:
        return ()
    picks = devices_on(request, node.over(request), binpack=binpack, plugins=plugins).picks[: want.own]
    return tuple(
        Granted(board.ids[atom], ask.kind, ask.units, board.layout.positions[atom])
        for ask, atoms in zip(want.asks, picks, strict=False)
        for atom in atoms
    )


def leased(node: NodeView) -> tuple[Granted, ...]:
    """All of a node that can be booked."""
    if node.board is None:
        return ()
    layout = node.board.layout
    return tuple(
        Granted(name, layout.kinds[at], WHOLE, layout.positions[at])
        for at, name in enumerate(node.board.ids)
        if layout.usable[at]
    )


def amounts_on(request: Request, node: NodeView) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By class asked for: units in use over the window, and units that there are."""
    if request.want is None or node.board is None:
        return (), ()
    return units_on(request.want, node.board.layout, node.free_units)


def units_on(want: Wanted, layout: Layout, free: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same for atoms of which so much is free."""
    used, has = [], []
    for kind in want.kinds:
        mask = layout.by_kind.get(kind, 0)
        most = mask.bit_count() * WHOLE
        has.append(most)
        used.append(most - sum(max(units, 0) for at, units in enumerate(free) if mask >> at & 1))
    return tuple(used), tuple(has)


def claim_for(
    request: Request, node: str, allocation: str, devices: tuple[Granted, ...] = (), inside: Inside | None = None
) -> Claim:
    """The claim that placing this request on that node makes: the job's own amounts, not its group's."""
    end = request.end if inside is None else inside.end
    return Claim(
        allocation,
        node,
        request.owner,
        request.amounts,
        request.ports,
        request.exclusive,
        request.tenant if inside is None else inside.tenant,
        tuple((atom.id, atom.units) for atom in devices),
        request.start if end is not None or inside is not None else None,
        end,
        None if inside is None else inside.reservation,
        inside is not None,
    )


def _none_of(ask: Ask) -> str:
    return f"0 of {ask.count if ask.units == WHOLE else plain(ask.units)} {ask.kind} free"
