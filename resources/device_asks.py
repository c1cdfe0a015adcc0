"""What a manifest asks of a node's devices."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from resources.devices import WHOLE
from resources.frozen import Frozen, Int, Text
from resources.selector_text import parse_devices
from resources.selectors import ANYTHING, Selector, SelectorError, from_document


def _selector(value: object) -> object:
    """A document or its shorthand, as a document."""
    if isinstance(value, str):
        try:
            return parse_devices(value).to_document()
        except SelectorError as error:
            raise ValueError(str(error).removeprefix("selector: ")) from None
    return from_document(value).to_document()


SelectorDocument = Annotated[
    dict[str, Any],
    BeforeValidator(_selector),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"matchExpressions": {"type": "array", "items": {"type": "object"}}},
                },
            ]
        }
    ),
]


class DeviceAsk(Frozen):
    """So many whole devices of a class, or a part of one: `units` are thousandths of it."""

    device_class: Annotated[Text, Field(alias="class", min_length=1, max_length=63)]
    count: Annotated[Int, Field(ge=1, le=1024)] | None = None
    units: Annotated[Int, Field(ge=1, lt=WHOLE)] | None = None
    selector: SelectorDocument | None = None
    topology: Literal["any", "nvlink-all"] = "any"

    @model_validator(mode="after")
    def _one(self) -> DeviceAsk:
        if (self.count is None) == (self.units is None):
            raise ValueError("exactly one of count, units")
        return self

    @property
    def selects(self) -> Selector:
        return ANYTHING if self.selector is None else from_document(self.selector)
