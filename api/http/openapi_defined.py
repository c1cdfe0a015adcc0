"""OpenAPI of a kind that a file defines: what its author's models say, less whatever could spoil the whole document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.openapi_shapes import PREFIX, REFERENCE, three, whole
from resources.canonical import Document
from resources.defined import DefinedStatus
from resources.shape import Shape

LOCAL = "#/$defs/"
DEEPEST = 32
MOST_MODELS = 500
TEXTS = frozenset({"description", "format", "pattern"})
NUMBERS = frozenset(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems".split()
)
FLAGS = frozenset({"uniqueItems", "additionalProperties", "writeOnly", "x-kubernetes-preserve-unknown-fields"})
LISTS = frozenset({"anyOf", "allOf", "oneOf"})
PLAIN = (str, int, float, bool, type(None))
TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
OPEN: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def schemas(shape: Shape) -> Document:
    """Of a kind and of all that it is made of, by name. References go to its own models and nowhere else."""
    found: Document = {}
    for part in ("spec", "status"):
        told = shape.parts.get(part)
        found |= _part(f"{PREFIX}{shape.kind}.{part}", told if isinstance(told, dict) else OPEN)
    status = f"{PREFIX}{shape.kind}.status"
    found[status], more = _with_the_runtimes(found[status])
    found |= more
    return found | {PREFIX + shape.kind: whole(shape.kind, shape.description)}


def unknown(kind: str, why: str) -> Document:
    """Of a kind whose file cannot be asked, or not for all: any spec is taken, and the server judges it."""
    return schemas(Shape(kind, "", {}, why))


def _part(name: str, told: Document) -> Document:
    models = told.get("$defs")
    inner = dict(list(models.items())[:MOST_MODELS]) if isinstance(models, dict) else {}
    names = {model: f"{name}.{model}" for model in inner}
    found = {names[model]: three(_clean(schema, names)) for model, schema in inner.items()}
    return {**found, name: three(_clean(told, names))}


def _with_the_runtimes(status: Document) -> tuple[Document, Document]:
    """The status with the fields that the runtime adds, and the models of these."""
    ours = DefinedStatus.model_json_schema(by_alias=True, ref_template=REFERENCE)
    models = {PREFIX + name: three(schema) for name, schema in ours.pop("$defs", {}).items()}
    if "$ref" in status or "allOf" in status:
        return status, models
    return {**status, "properties": {**status.get("properties", {}), **three(ours)["properties"]}}, models


def _clean(schema: Any, names: Mapping[str, str], depth: int = 0) -> Document:
    """What is not as JSON Schema has it is left out; clients refuse the whole document for one word that is wrong."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return {}
    model = str(schema.get("$ref", "")).removeprefix(LOCAL)
    if model in names:
        return {"$ref": REFERENCE.format(model=names[model].removeprefix(PREFIX))}
    found: Document = {}
    for key, value in schema.items():
        cleaned = _value(key, value, names, depth)
        if cleaned is not None:
            found[key] = cleaned
    return found


def _value(key: str, value: Any, names: Mapping[str, str], depth: int) -> Any:
    """None for what is left out."""
    match value:
        case str() if key in TEXTS or (key == "type" and value in TYPES):
            return value
        case bool() if key in FLAGS:
            return value
        case int() | float() if key in NUMBERS and not isinstance(value, bool):
            return value
        case dict() if key in ("items", "additionalProperties"):
            return _clean(value, names, depth + 1)
        case dict() if key == "properties":
            return {name: _clean(one, names, depth + 1) for name, one in value.items()}
        case list() if key in LISTS and value:
            return [_clean(one, names, depth + 1) for one in value]
        case list() if key == "required" and value and all(isinstance(one, str) for one in value):
            return list(value)
        case list() if key == "enum" and value and all(isinstance(one, PLAIN) for one in value):
            return list(value)
        case str() | int() | float() if key in ("default", "const"):
            return value
        case _:
            return None
