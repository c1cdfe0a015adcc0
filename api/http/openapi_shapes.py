"""Words of OpenAPI 3.0 that every kind's schemas are made with."""

from __future__ import annotations

from typing import Any

from resources.canonical import Document

PREFIX = "rmctl.v1."
REFERENCE = "#/components/schemas/" + PREFIX + "{model}"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def whole(kind: str, description: str) -> Document:
    """A manifest, whose spec and status have schemas of their own."""
    parts = {part: {"$ref": f"#/components/schemas/{PREFIX}{kind}.{part}"} for part in ("spec", "status")}
    return {
        "type": "object",
        "description": description,
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": f"#/components/schemas/{META}"}], "default": {}},
            **parts,
        },
        "x-kubernetes-group-version-kind": [gvk(kind)],
    }


def gvk(kind: str) -> Document:
    return {"group": "rmctl", "version": "v1", "kind": kind}


def three(schema: Any) -> Any:
    """JSON Schema of today as OpenAPI 3.0 says it: `nullable`, `enum` of one, no tuples, no `title`."""
    if isinstance(schema, list):
        return [three(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: three(value) for key, value in schema.items() if key not in ("title", "const", "prefixItems")}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        changed["properties"] = {name: three(inner) for name, inner in properties.items()}
    if "const" in schema:
        changed["enum"] = [schema["const"]]
    for bound in ("exclusiveMinimum", "exclusiveMaximum"):
        if isinstance(changed.get(bound), int | float) and not isinstance(changed[bound], bool):
            changed["minimum" if bound == "exclusiveMinimum" else "maximum"] = changed[bound]
            changed[bound] = True
    options = changed.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        left = [option for option in options if option != {"type": "null"}]
        changed.pop("anyOf")
        changed |= {"nullable": True} | (left[0] if len(left) == 1 and "$ref" not in left[0] else {"anyOf": left})
    if "$ref" in changed and len(changed) > 1:
        changed["allOf"] = [{"$ref": changed.pop("$ref")}]
    return changed


def metadata() -> Document:
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A DNS label: lower case letters, digits and hyphens."},
            "namespace": {"type": "string", "description": "The project."},
            "labels": texts,
            "annotations": texts,
            "uid": {"type": "string"},
            "resourceVersion": {"type": "string"},
            "generation": {"type": "integer"},
            "creationTimestamp": {"type": "string", "format": "date-time"},
            "deletionTimestamp": {"type": "string", "format": "date-time"},
            "finalizers": {"type": "array", "items": {"type": "string"}},
        },
    }
