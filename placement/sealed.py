"""What a rule of a plugin sees: the very values of a plan, of which it can change none."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from placement.boards import Board, Layout
from placement.node import NodeView
from placement.request import Request


def sealed_request(request: Request) -> Request:
    return replace(request, labels=MappingProxyType(request.labels), excluded=MappingProxyType(request.excluded))


def sealed_node(node: NodeView) -> NodeView:
    return node.like(
        labels=MappingProxyType(node.labels),
        claims=MappingProxyType(node.claims),
        board=None if node.board is None else _sealed_board(node.board),
        seen=None,
    )


def _sealed_board(board: Board) -> Board:
    memo = board.layout.memo
    found: Layout | None = memo.get("sealed")
    if found is None:
        found = memo["sealed"] = _sealed_layout(board.layout)
    return replace(board, layout=found)


def _sealed_layout(layout: Layout) -> Layout:
    attributes = tuple(map(MappingProxyType, layout.attributes))
    return replace(layout, attributes=attributes, by_kind=MappingProxyType(layout.by_kind), memo={})
