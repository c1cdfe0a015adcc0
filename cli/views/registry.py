"""The view of each kind: one line each, and one for all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cli.views import bundle, generic, job, node, pool
from cli.views.wire import Document, Fact, Row, World, begun, deleting, ready, title, told


class View(NamedTuple):
    """`row` fills WHERE and DETAIL of a table, `facts` the grid of `describe`."""

    row: Callable[[Document, World], Row]
    facts: Callable[[Document, World], list[Fact]]


VIEWS = {
    "pool": View(pool.row, pool.facts),
    "node": View(node.row, node.facts),
    "bundle": View(bundle.row, bundle.facts),
    "job": View(job.row, job.facts),
}
OTHER = View(generic.row, generic.facts)


def view(document: Document) -> View:
    return VIEWS.get(str(document.get("kind")), OTHER)


def line_one(document: Document, world: World) -> str:
    """The sentence that stands alone: the name and what its Ready condition says."""
    going = deleting(document)
    if going:
        return f"{title(document)} {going}"
    clause = job.sentence(document, world) if document.get("kind") == "job" else told(ready(document))
    return begun(title(document), clause)
