"""A resource as the wire shows it: the envelope of the Kubernetes API."""

from __future__ import annotations

from typing import Any

from resources.canonical import Document, canonical
from resources.instants import rfc3339
from resources.resource import KEY_ANNOTATION, Resource, Status

API_VERSION = "rmctl/v1"


def to_wire(resource: Resource[Any, Any]) -> Document:
    """The whole object; the spec as it was asked for, without defaults. Secrets never stand in a spec or a status."""
    return {
        "apiVersion": API_VERSION,
        "kind": resource.ref.kind,
        "metadata": _metadata(resource),
        "spec": resource.document,
        "status": status_document(resource.status),
    }


def wire_text(resource: Resource[Any, Any], spec: str, status: str) -> str:
    """The canonical JSON of `to_wire`, put together from that of its spec and its status."""
    metadata = canonical(_metadata(resource))
    kind = resource.ref.kind
    return f'{{"apiVersion":"{API_VERSION}","kind":"{kind}","metadata":{metadata},"spec":{spec},"status":{status}}}'


def _metadata(resource: Resource[Any, Any]) -> Document:
    metadata: Document = {
        "name": resource.name,
        "uid": resource.uid,
        "resourceVersion": str(resource.resource_version),
        "generation": resource.generation,
        "creationTimestamp": rfc3339(float(int(resource.created_at))),
    }
    if resource.project:
        metadata["namespace"] = resource.project
    if resource.labels:
        metadata["labels"] = dict(resource.labels)
    annotations = dict(resource.annotations)
    if KEY_ANNOTATION in annotations:
        metadata["key"] = annotations.pop(KEY_ANNOTATION)
    if annotations:
        metadata["annotations"] = annotations
    if resource.finalizers:
        metadata["finalizers"] = list(resource.finalizers)
    if resource.deletion_timestamp is not None:
        metadata["deletionTimestamp"] = rfc3339(float(int(resource.deletion_timestamp)))
    if resource.owner:
        metadata["ownerReferences"] = [owner_reference(resource.name, resource.owner)]
    return metadata


def owner_reference(name: str, owner: str) -> Document:
    """From the name of what is owned and the uid of its owner.

    Only a bundle owns today, and a job's name starts with its bundle's.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "bundle",
        "name": name.partition(".")[0],
        "uid": owner,
        "controller": True,
    }


def status_document(status: Status) -> Document:
    """A status as JSON: camelCase, nulls left out."""
    return status.model_dump(mode="json", by_alias=True, exclude_none=True)
