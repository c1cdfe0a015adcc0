"""The view of each kind: one line each, and one for all others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NamedTuple

from cli.views.wire import Document, Fact, Row, World, begun, deleting, ready, title, told


class View(NamedTuple):
    """`row` fills WHERE and DETAIL of a table, `facts` the grid of `describe`."""

    row: Callable[[Document, World], Row]
    facts: Callable[[Document, World], list[Fact]]


OWN = ("pool", "node", "bundle", "job", "reservation")


def view(document: Document) -> View:
    return _view(str(document.get("kind")))


@cache
def _view(kind: str) -> View:
    """A call pays for the views of the kinds that it shows."""
    module = import_module(f"cli.views.{kind if kind in OWN else 'generic'}")
    return View(module.row, module.facts)


def line_one(document: Document, world: World) -> str:
    """The sentence that stands alone: the name and what its Ready condition says."""
    going = deleting(document)
    if going:
        return f"{title(document)} {going}"
    if document.get("kind") != "job":
        return begun(title(document), told(ready(document)))
    from cli.views.job import sentence

    return begun(title(document), sentence(document, world))
