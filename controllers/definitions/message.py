"""The message that asks a runner for a pass: the resource as it stands."""

from __future__ import annotations

from typing import Any

from resources.canonical import Document
from resources.resource import Resource


def message_of(resource: Resource[Any, Any], unsettled: list[str]) -> Document:
    """`unsettled` are the keys of effects of which nobody knows how they ended."""
    metadata = {
        "uid": resource.uid,
        "kind": resource.ref.kind,
        "key": resource.key,
        "project": resource.project,
        "resource_version": resource.resource_version,
        "generation": resource.generation,
        "finalizers": list(resource.finalizers),
        "labels": dict(resource.labels),
        "annotations": dict(resource.annotations),
        "deletion_timestamp": resource.deletion_timestamp,
    }
    told = [one.model_dump(mode="json", by_alias=True) for one in resource.status.conditions]
    document = {
        "metadata": metadata,
        "spec": resource.document,
        "status": resource.status.own,
        "conditions": told,
    }
    return {"do": "reconcile", "resource": document, "open": unsettled}
