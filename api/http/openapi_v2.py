"""OpenAPI v2 as the protobuf message that kubectl before 1.24 asks for: definitions to explain, patches to try out.

Source of the field numbers: https://github.com/google/gnostic/blob/main/openapiv2/OpenAPIv2.proto
"""

from __future__ import annotations

import functools
import json
from typing import Any

from api.http import openapi
from resources.canonical import Document
from resources.kind import Kind
from resources.registry import every
from resources.shape import Shape

MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
KIND = "x-kubernetes-group-version-kind"
WIRE_LENGTH = 2


def document(shapes: tuple[Shape, ...] = ()) -> bytes:
    """`/openapi/v2`."""
    return _document(every(), shapes)


@functools.lru_cache(4)
def _document(_kinds: tuple[Kind, ...], shapes: tuple[Shape, ...]) -> bytes:
    known = openapi.document(shapes)
    paths = [(path, item["patch"]) for path, item in known["paths"].items() if "patch" in item]
    schemas = known["components"]["schemas"].items()
    return (
        _text(1, "2.0")
        + _message(2, _text(1, "rmctl") + _text(2, "v1"))
        + _message(8, b"".join(_message(2, _named(path, _path_item(patch))) for path, patch in paths))
        + _message(9, b"".join(_message(1, _named(name, _schema(schema))) for name, schema in schemas))
    )


def _path_item(patch: Document) -> bytes:
    queries = (one["name"] for one in patch["parameters"])
    parameters = b"".join(
        _message(8, _message(1, _message(2, _message(3, _text(2, "query") + _text(4, name) + _text(6, "string")))))
        for name in queries
    )
    return _message(8, parameters + _extension(13, KIND, patch[KIND]))


def _schema(schema: Document) -> bytes:
    """What `explain` prints; `nullable` and unions have no word in version 2."""
    whole: list[Document] = schema.get("allOf") or schema.get("anyOf") or []
    if "$ref" not in schema and len(whole) == 1:
        schema = {**schema, **whole[0]}
    if "$ref" in schema:
        return _text(1, schema["$ref"].replace("#/components/schemas/", "#/definitions/"))
    found = b"".join(_text(19, name) for name in schema.get("required", ()))
    if schema.get("description"):
        found += _text(4, schema["description"])
    if schema.get("type"):
        found += _message(22, _text(1, schema["type"]))
    if isinstance(schema.get("additionalProperties"), dict):
        found += _message(21, _message(1, _schema(schema["additionalProperties"])))
    if isinstance(schema.get("items"), dict):
        found += _message(23, _message(1, _schema(schema["items"])))
    properties = schema.get("properties") or {}
    if properties:
        inner = (_message(1, _named(name, _schema(one))) for name, one in properties.items())
        found += _message(25, b"".join(inner))
    return found + (_extension(31, KIND, schema[KIND]) if KIND in schema else b"")


def _extension(number: int, name: str, value: Any) -> bytes:
    """JSON is YAML."""
    return _message(number, _named(name, _text(2, json.dumps(value))))


def _named(name: str, value: bytes) -> bytes:
    return _text(1, name) + _message(2, value)


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | WIRE_LENGTH) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
