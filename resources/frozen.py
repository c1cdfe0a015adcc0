"""The base of every model at a border: frozen, camelCase on the wire, unknown fields refused."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, Strict
from pydantic.alias_generators import to_camel

from resources.instants import instant, rfc3339, timestamp


class Frozen(BaseModel):
    """A value. Change means a new value (`model_copy(update=…)`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {spelled(value)}")
    return value


def spelled(value: object) -> str:
    """How a value is named in a message: its JSON type, or a number as it was written."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return repr(value)
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return type(value).__name__


Text = Annotated[str, Strict()]
Int = Annotated[int, Strict()]
Bool = Annotated[bool, Strict()]
Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Count = Annotated[int, Strict(), Field(ge=0)]
Instant = Annotated[
    float,
    BeforeValidator(instant),
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    Field(json_schema_extra={"type": "string", "format": "date-time"}),
]
"""Unix seconds inside, RFC 3339 with Z on the wire."""
Timestamp = Annotated[
    float,
    BeforeValidator(timestamp),
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    Field(json_schema_extra={"type": "string", "format": "date-time"}),
]
"""An instant in a manifest: written as text, never as a number."""
