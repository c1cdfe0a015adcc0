"""OpenAPI v3 of rmctl/v1, made from the models; what kubectl needs for validation, dry runs and `explain`."""

from __future__ import annotations

import functools
import hashlib

from api.http import openapi_defined
from api.http.openapi_shapes import META, PREFIX, REFERENCE, gvk, metadata, three, whole
from api.http.patches import MEDIA
from resources.canonical import Document, canonical
from resources.kind import Kind
from resources.registry import BUILT_IN, every
from resources.shape import Shape

UNKNOWN = "Its fields are those of its file: rmctl explain {kind} -p PROJECT."


def index(core: Document, shapes: tuple[Shape, ...] = ()) -> Document:
    """`/openapi/v3`: where the documents are, each with the hash of its content."""
    found = {"api/v1": core, "apis/rmctl/v1": document(shapes)}
    return {
        "paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_hash(one)}"} for path, one in found.items()}
    }


def _hash(content: Document) -> str:
    return hashlib.sha256(canonical(content).encode()).hexdigest().upper()


def document(shapes: tuple[Shape, ...] = ()) -> Document:
    """`/openapi/v3/apis/rmctl/v1`. A kind of a file without a shape takes any spec."""
    return _document(every(), shapes)


@functools.lru_cache(4)
def _document(kinds: tuple[Kind, ...], shapes: tuple[Shape, ...]) -> Document:
    schemas: Document = {META: metadata()}
    paths: Document = {}
    shaped = {one.kind: openapi_defined.schemas(one) for one in shapes}
    for kind in kinds:
        if kind.name in BUILT_IN:
            schemas |= _schemas(kind)
        else:
            unknown = UNKNOWN.format(kind=kind.name)
            schemas |= shaped.get(kind.name) or openapi_defined.unknown(kind.name, unknown)
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
    found: Document = {PREFIX + kind.name: whole(kind.name, (kind.spec.__doc__ or "").strip())}
    for part, model in (("spec", kind.spec), ("status", kind.status)):
        schema = model.model_json_schema(by_alias=True, ref_template=REFERENCE, mode="validation")
        found |= {PREFIX + name: three(inner) for name, inner in schema.pop("$defs", {}).items()}
        found[f"{PREFIX}{kind.name}.{part}"] = three(schema)
    return found


def _operation(kind: Kind, verb: str, *, body: bool = False) -> Document:
    operation: Document = {
        "operationId": f"{verb}{kind.name.title().replace('-', '')}",
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": gvk(kind.name),
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
