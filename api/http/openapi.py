"""OpenAPI v3 of rmctl/v1, made from the models; what kubectl needs for validation, dry runs and `explain`."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from api.http.patches import MEDIA
from resources.canonical import Document, canonical
from resources.kind import Kind
from resources.registry import every

PREFIX = "rmctl.v1."
REFERENCE = "#/components/schemas/" + PREFIX + "{model}"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def index(core: Document) -> Document:
    """`/openapi/v3`: where the documents are, each with the hash of its content."""
    found = {"api/v1": core, "apis/rmctl/v1": document()}
    return {
        "paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_hash(one)}"} for path, one in found.items()}
    }


def _hash(content: Document) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest().upper()


def document() -> Document:
    """`/openapi/v3/apis/rmctl/v1`."""
    return _document(every())


@functools.lru_cache(4)
def _document(kinds: tuple[Kind, ...]) -> Document:
    schemas: Document = {META: metadata()}
    paths: Document = {}
    for kind in kinds:
        schemas |= _schemas(kind)
        base = f"/apis/rmctl/v1/{'namespaces/{namespace}/' if kind.namespaced else ''}{kind.plural}"
        paths[base] = {"get": _operation(kind, "list"), "post": _operation(kind, "create", body=True)}
        paths[f"{base}/{{name}}"] = {
            "get": _operation(kind, "get"),
            "put": _operation(kind, "update", body=True),
            "patch": _operation(kind, "patch", body=True),
            "delete": _operation(kind, "delete"),
        }
        if kind.namespaced:
            paths[f"/apis/rmctl/v1/{kind.plural}"] = {"get": _operation(kind, "listAll")}
    return {
        "openapi": "3.0.0",
        "info": {"title": "rmctl", "version": "v1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schemas(kind: Kind) -> Document:
    models = {"spec": kind.spec, "status": kind.status}
    parts = {
        part: model.model_json_schema(by_alias=True, ref_template=REFERENCE, mode="validation")
        for part, model in models.items()
    }
    found = schemas_of(kind.name, parts, (kind.spec.__doc__ or "").strip())
    found[PREFIX + kind.name]["x-kubernetes-group-version-kind"] = [_gvk(kind)]
    return found


def schemas_of(kind: str, parts: Document, description: str) -> Document:
    """Of a kind and of all that it is made of, by name; `parts` are the JSON Schemas of spec and status."""
    found: Document = {}
    for part, schema in parts.items():
        for name, inner in schema.pop("$defs", {}).items():
            found[PREFIX + name] = _three(inner)
        found[f"{PREFIX}{kind}.{part}"] = _three(schema)
    found[PREFIX + kind] = {
        "type": "object",
        "description": description,
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [{"$ref": f"#/components/schemas/{META}"}], "default": {}},
            **{part: {"$ref": f"#/components/schemas/{PREFIX}{kind}.{part}"} for part in parts},
        },
    }
    return found


def _three(schema: Any) -> Any:
    """JSON Schema of today as OpenAPI 3.0 says it: `nullable`, `enum` of one, no tuples, no `title`."""
    if isinstance(schema, list):
        return [_three(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _three(value) for key, value in schema.items() if key not in ("title", "const", "prefixItems")}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        changed["properties"] = {name: _three(inner) for name, inner in properties.items()}
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


def _operation(kind: Kind, verb: str, *, body: bool = False) -> Document:
    operation: Document = {
        "operationId": f"{verb}{kind.name.title().replace('-', '')}",
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": _gvk(kind),
        "parameters": [_parameter(name) for name in PARAMETERS[verb]],
        "responses": {"200": {"description": "OK", "content": _content(kind, ("application/json",))}},
    }
    if body:
        media = MEDIA if verb == "patch" else ("application/json",)
        operation["requestBody"] = {"content": _content(kind, media), "required": True}
    return operation


LISTED = ("labelSelector", "fieldSelector", "limit", "continue", "watch", "resourceVersion", "allowWatchBookmarks")
WRITTEN = ("dryRun", "fieldManager", "fieldValidation")
PARAMETERS = {
    "list": LISTED,
    "listAll": LISTED,
    "get": (),
    "create": WRITTEN,
    "update": WRITTEN,
    "patch": (*WRITTEN, "force"),
    "delete": ("dryRun", "propagationPolicy", "gracePeriodSeconds"),
}
NUMBERS = ("limit", "gracePeriodSeconds")
FLAGS = ("watch", "allowWatchBookmarks", "force")


def _parameter(name: str) -> Document:
    type_ = "integer" if name in NUMBERS else "boolean" if name in FLAGS else "string"
    return {"name": name, "in": "query", "schema": {"type": type_, "uniqueItems": True}}


def _content(kind: Kind, media: tuple[str, ...]) -> Document:
    return {one: {"schema": {"$ref": f"#/components/schemas/{PREFIX}{kind.name}"}} for one in media}


def _gvk(kind: Kind) -> Document:
    return {"group": "rmctl", "version": "v1", "kind": kind.name}


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
