"""A paused resource: nothing is decided for it, and its Ready says so; a deletion goes on all the same."""

from __future__ import annotations

from typing import Any

from controllers.runtime.decision import Decision
from resources import conditions
from resources.conditions import condition
from resources.reference import Ref
from resources.resource import Resource
from store import pauses
from store.tx import Tx

REASON = "Paused"


def held(tx: Tx, resource: Resource[Any, Any]) -> Decision | None:
    """The decision of a pass over a paused resource; None when the pass is its controller's.

    Everything but Ready is left as it was last known.
    """
    if resource.deleting:
        return None
    found = pauses.find(tx, resource)
    if found is None:
        return None
    by, why = found
    others = tuple(one for one in resource.status.conditions if one.type != "Ready")
    status = resource.status.model_copy(
        update={"conditions": (condition("Ready", False, REASON, _told(resource, by, why)), *others)}
    )
    return Decision(status, wake=() if was_paused(resource) else pauses.below(tx, resource))


def released(tx: Tx, resource: Resource[Any, Any]) -> tuple[Ref, ...]:
    """What was held with a resource whose pause is over: its first pass wakes them."""
    return pauses.below(tx, resource) if was_paused(resource) else ()


def was_paused(resource: Resource[Any, Any]) -> bool:
    ready = conditions.find(resource.status.conditions, "Ready")
    return ready is not None and ready.reason == REASON


def _told(resource: Resource[Any, Any], by: Ref, why: str) -> str:
    reason = f": {why}" if why else ""
    if by == resource.ref:
        return f"is paused{reason}; rmctl resume {by} lets it go on"
    return f"is paused with {by}{reason}; rmctl resume {by} lets it go on"
