"""A reservation: where it is booked, and its Ready condition."""

from __future__ import annotations

from cli.views.generic import facts
from cli.views.wire import Document, Row, World, ready, status

__all__ = ["facts", "row"]


def row(resource: Document, world: World) -> Row:
    nodes = dict.fromkeys(str(held.get("node")) for held in status(resource).get("allocations") or ())
    return Row(", ".join(nodes) or "-", ready(resource).message)
