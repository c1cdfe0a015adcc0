"""What a server asks its plugins, and how it goes over the line: pickled towards them, plain JSON back."""

from __future__ import annotations

import copyreg
import pickle  # what the server itself has made is read by its own child; nothing pickled comes back
import socket
import struct
from collections.abc import Sequence
from io import BytesIO
from types import MappingProxyType
from typing import Any, NamedTuple

from placement.node import NodeView
from placement.plugins import Plugin
from placement.request import Request
from resources.canonical import Document

SIZE = struct.Struct(">I")
Rule = tuple[str, str]
"""filter, scorer or picker with its name; admit with its plugin's."""


class Plan(NamedTuple):
    """What the questions from here on are about; rules that are away are left out."""

    request: Request
    away: frozenset[Rule]


class About(NamedTuple):
    """All filters and scorers: the first that refuses the node, or the scores."""

    node: NodeView


class Pick(NamedTuple):
    kind: str
    node: NodeView
    able: tuple[str, ...]
    wanted: int


class Admit(NamedTuple):
    plugin: str


Question = About | Pick | Admit
Asked = tuple[Plan | None, Question]
"""The plan where it is another than before."""


def packed(asked: Asked) -> bytes:
    """Views that cannot be changed are plain again at the other end."""
    body = BytesIO()
    pickler = pickle.Pickler(body, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _TABLE
    pickler.dump(asked)
    return SIZE.pack(body.tell()) + body.getvalue()


def read(end: socket.socket) -> Asked | None:
    """None when the server is gone."""
    head = _exactly(end, SIZE.size)
    body = None if head is None else _exactly(end, SIZE.unpack(head)[0])
    return None if body is None else pickle.loads(body)  # noqa: S301  the server's own words


def listed(plugins: Sequence[Plugin]) -> list[Document]:
    return [
        {
            "id": plugin.id,
            "filters": list(plugin.filters),
            "scorers": [[scorer.id, float(scorer.weight)] for scorer in plugin.scorers],
            "pickers": list(plugin.pickers),
            "admit": plugin.admit is not None,
        }
        for plugin in plugins
    ]


def rules_of(listing: Sequence[Document]) -> tuple[Rule, ...]:
    """In the order in which both sides count them."""
    found: list[Rule] = []
    for plugin in listing:
        found += [("filter", name) for name in plugin["filters"]]
        found += [("scorer", name) for name, _ in plugin["scorers"]]
        found += [("picker", name) for name in plugin["pickers"]]
        found += [("admit", plugin["id"])] if plugin["admit"] else []
    return tuple(dict.fromkeys(found))


def _exactly(end: socket.socket, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        some = end.recv(size - len(found))
        if not some:
            return None
        found += some
    return bytes(found)


def _plain(view: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return dict, (view.copy(),)


_TABLE = {**copyreg.dispatch_table, MappingProxyType: _plain}
