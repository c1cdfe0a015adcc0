"""Any other kind: its Ready condition says it all."""

from __future__ import annotations

from cli.views.wire import Document, Fact, Row, World, metadata, ready, status


def row(resource: Document, world: World) -> Row:
    return Row("-", ready(resource).message)


def sentence(resource: Document, world: World) -> str:
    """The predicate of line one, without the name."""
    state = ready(resource)
    if state.reason == "-":
        return "has not been looked at since it was last changed."
    tail = f": {state.message.rstrip('.')}" if state.message else ""
    return f"is ready ({state.reason}){tail}." if state.status == "True" else f"is not ready ({state.reason}){tail}."


def facts(resource: Document, world: World) -> list[Fact]:
    observed = status(resource).get("observedGeneration", 0)
    return [Fact("Generation", f"{metadata(resource).get('generation', 0)}, observed {observed}"), Fact("", "")]
