"""The view of each kind: one line each, and one for all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cli.views import bundle, generic, job, node, pool
from cli.views.wire import Document, Fact, Row, World, title


class View(NamedTuple):
    row: Callable[[Document, World], Row]
    sentence: Callable[[Document, World], str]
    facts: Callable[[Document, World], list[Fact]]


VIEWS = {
    "pool": View(pool.row, pool.sentence, pool.facts),
    "node": View(node.row, node.sentence, node.facts),
    "bundle": View(bundle.row, bundle.sentence, bundle.facts),
    "job": View(job.row, job.sentence, job.facts),
}
OTHER = View(generic.row, generic.sentence, generic.facts)


def view(document: Document) -> View:
    return VIEWS.get(str(document.get("kind")), OTHER)


def line_one(document: Document, world: World) -> str:
    """The sentence that stands alone."""
    return f"{title(document)} {view(document).sentence(document, world)}"
