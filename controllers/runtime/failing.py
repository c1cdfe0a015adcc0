"""A pass that failed tells its resource: one event a cause, and from the second time on in its Ready condition."""

from __future__ import annotations

from typing import Any

from resources.conditions import condition
from resources.defined import DefinedStatus
from resources.event import Event
from resources.resource import Resource
from store import events, resources
from store.errors import Corrupt, TooLarge
from store.queue import Claim
from store.tx import Tx

REASON = "ReconcileFailed"
MAX_MESSAGE = 1024


class Foreseen(Exception):
    """Its text is for people as it stands."""


def tell(tx: Tx, claim: Claim, error: Exception) -> None:
    """Everything but Ready is left as it was last known. A definition that ran and failed is not stalled, as it was
    when it could not be loaded. A row that cannot be read is told nothing."""
    said = str(error) if isinstance(error, Foreseen) else f"{type(error).__name__}: {_cause(error)}"
    message = said[:MAX_MESSAGE]
    resource = note(tx, claim, Event(REASON, message, "Warning"))
    if resource is None or not claim.errors:
        return
    over = ("Ready", "Stalled") if isinstance(resource.status, DefinedStatus) else ("Ready",)
    others = tuple(one for one in resource.status.conditions if one.type not in over)
    ready = condition("Ready", False, REASON, f"cannot be worked on, and is tried again: {message}")
    resources.replace_status(tx, resource, resource.status.model_copy(update={"conditions": (ready, *others)}))


def _cause(error: Exception) -> str:
    """The same text for the same cause, so that one row counts it."""
    return f"{error.what} is over its limit of {error.limit} bytes" if isinstance(error, TooLarge) else str(error)


def note(tx: Tx, claim: Claim, event: Event) -> Resource[Any, Any] | None:
    """The resource that the event was added to."""
    try:
        resource = resources.find(tx, claim.ref)
    except Corrupt:
        return None
    if resource is not None:
        events.add(tx, claim.ref, resource.uid, event)
    return resource
