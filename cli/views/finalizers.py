"""What a deletion waits for: each finalizer, who keeps it, and what lets it go."""

from __future__ import annotations

from typing import NamedTuple

from cli.durations import span
from cli.views.wire import Document, World, metadata, ready, title

FORCE = "rmctl delete --force --reason TEXT {name}"


class Keeper(NamedTuple):
    """`who` takes the finalizer off, once `when`."""

    who: str
    when: str


KEEPERS = {
    "rmctl/jobs": Keeper("the bundle", "none of its jobs is left"),
    "rmctl/instance": Keeper("the job", "no instance of it can be alive"),
    "rmctl/effects": Keeper("the server", "no effect of it is under way"),
}
STRANGER = Keeper("whoever set it", "its manager has run: this server does not know it")


def first_blocker(document: Document, world: World) -> str:
    """The detail of a table's row: what its controller says, for how long, and the first finalizer; empty for what is
    not being deleted."""
    since = world.since(metadata(document).get("deletionTimestamp"))
    if since is None:
        return ""
    held = _held(document)
    kept = f", kept by {held[0]}" if held else ""
    return f"{ready(document).message or 'is being deleted'}; for {span(since)}{kept}"


def rows(document: Document, world: World) -> list[tuple[str, ...]]:
    """Finalizer, owner, age of the deletion, and until when it stays."""
    since = world.since(metadata(document).get("deletionTimestamp"))
    if since is None:
        return []
    keepers = [(name, KEEPERS.get(name, STRANGER)) for name in _held(document)]
    return [(name, f"kept by {who}", span(since), f"until {when}") for name, (who, when) in keepers]


def next_step(document: Document) -> str:
    """What helps when a deletion does not end; empty for what is not being deleted."""
    if metadata(document).get("deletionTimestamp") is None:
        return ""
    return f"rmctl why {title(document)}   or, to give up what it promised, {FORCE.format(name=title(document))}"


def _held(document: Document) -> list[str]:
    return [str(name) for name in metadata(document).get("finalizers") or ()]
