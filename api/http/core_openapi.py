"""OpenAPI v3 of the core kinds that are served beside our own, so that `kubectl explain node` says what they are."""

from __future__ import annotations

import functools

from api.http.openapi_shapes import META, metadata
from resources.canonical import Document

PREFIX = "io.k8s.api.core.v1."
TEXT: Document = {"type": "string"}
NODE = {
    "spec": {
        "type": "object",
        "properties": {"unschedulable": {"type": "boolean", "description": "Whether it is cordoned. Can be written."}},
    },
    "status": {"type": "object", "description": "Capacity, addresses and the Ready condition."},
}
EVENT = {
    "involvedObject": {"type": "object", "description": "What it tells of: kind, namespace, name, uid."},
    "reason": {**TEXT, "description": "Its type in PascalCase, as rmctl events calls it."},
    "message": TEXT,
    "type": {**TEXT, "enum": ["Normal", "Warning"]},
    "count": {"type": "integer"},
    "firstTimestamp": {**TEXT, "format": "date-time"},
    "lastTimestamp": {**TEXT, "format": "date-time"},
}
KINDS: tuple[tuple[str, str, str, Document, bool], ...] = (
    ("nodes", "Node", "A second face of a node, to be cordoned; nodes.rmctl has all of it.", NODE, False),
    ("events", "Event", "What has happened to a resource.", EVENT, True),
    ("services", "Service", "There are none here.", {}, True),
)


@functools.cache
def document() -> Document:
    """`/openapi/v3/api/v1`."""
    schemas: Document = {META: metadata()}
    paths: Document = {}
    for plural, kind, description, properties, namespaced in KINDS:
        known = {"group": "", "version": "v1", "kind": kind}
        schemas[PREFIX + kind] = {
            "type": "object",
            "description": description,
            "properties": {
                "apiVersion": TEXT,
                "kind": TEXT,
                "metadata": {"allOf": [{"$ref": f"#/components/schemas/{META}"}]},
                **properties,
            },
            "x-kubernetes-group-version-kind": [known],
        }
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{PREFIX}{kind}"}}}
        paths[f"/api/v1/{'namespaces/{namespace}/' if namespaced else ''}{plural}"] = {
            "get": {
                "operationId": f"listCore{kind}",
                "x-kubernetes-action": "list",
                "x-kubernetes-group-version-kind": known,
                "responses": {"200": {"description": "OK", "content": content}},
            }
        }
    info = {"title": "rmctl", "version": "v1"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}
