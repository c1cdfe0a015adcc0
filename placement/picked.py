"""Atoms that a plugin picks, held against what was asked; the others are picked as always."""

from __future__ import annotations

from placement.boards import NV, UNKNOWN, Board
from placement.containment import PluginFailed, Unanswered
from placement.devices import Ask, Verdict, Wanted, candidates, verdict, wanted
from placement.node import NodeView
from placement.picks import bits, worst_link
from placement.plugins import Run
from placement.request import Request


def picked(request: Request, node: NodeView, plugins: Run, *, binpack: bool) -> Verdict:
    """Only for a node that has enough of everything."""
    want, board = request.want, node.board
    assert want is not None
    assert board is not None
    free = list(node.free_units)
    picks: dict[int, tuple[int, ...]] = {}
    for at, ask in enumerate(want.asks):
        if ask.kind not in plugins.pickers:
            continue
        try:
            chosen = _chosen(request, node, board, plugins, ask, free, want)
        except Unanswered as why:
            return Verdict(filter="pick", reason=f"picker for {ask.kind} {why}")
        except PluginFailed:
            return Verdict(filter="pick", reason=f"picker for {ask.kind} returned no valid set")
        picks[at] = chosen
        for atom in chosen:
            free[atom] = 0
    rest = [at for at in range(len(want.asks)) if at not in picks]
    if rest:
        others = wanted(tuple(want.asks[at] for at in rest), len(rest))
        labels = tuple(node.label(key) for key in others.keys)
        found = verdict(board.layout, tuple(free), others, labels, binpack=binpack)
        if found.filter:
            return found
        picks |= dict(zip(rest, found.picks, strict=True))
    return _judged(board, want, picks)


def _chosen(
    request: Request, node: NodeView, board: Board, plugins: Run, ask: Ask, free: list[int], want: Wanted
) -> tuple[int, ...]:
    """With as many candidates as are asked there is nothing to choose. Raises PluginFailed."""
    labels = {key: node.label(key) for key in want.keys}
    able = tuple(bits(candidates(board.layout, tuple(free), ask, labels)))
    if len(able) < ask.count:
        raise PluginFailed("left too few")
    if len(able) == ask.count:
        return able
    names = plugins.pick(ask.kind, request, node, [board.ids[atom] for atom in able], ask.count)
    return tuple(atom for atom in able if board.ids[atom] in names)


def _judged(board: Board, want: Wanted, picks: dict[int, tuple[int, ...]]) -> Verdict:
    links = {at: worst_link(board.layout, atoms) for at, atoms in sorted(picks.items()) if len(atoms) > 1}
    for at, link in links.items():
        ask = want.asks[at]
        if ask.topology == "nvlink-all" and link < NV:
            return Verdict(filter="topology", reason=f"no NVLink-complete set of {ask.count} {ask.kind}")
    worst = UNKNOWN if UNKNOWN in links.values() else min(links.values(), default=None)
    return Verdict(tuple(picks[at] for at in range(len(want.asks))), worst)
