"""Any other kind: its Ready condition says it all."""

from __future__ import annotations

from cli.views.wire import Document, Fact, Row, World, metadata, ready, status


def row(resource: Document, world: World) -> Row:
    return Row("-", ready(resource).message)


def facts(resource: Document, world: World) -> list[Fact]:
    observed = status(resource).get("observedGeneration", 0)
    return [Fact("Generation", f"{metadata(resource).get('generation', 0)}, observed {observed}"), Fact("", "")]
