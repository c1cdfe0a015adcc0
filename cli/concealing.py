"""Concealing: what the models of a definition call a secret, or what is named like one, in a resource that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cli.models import PREFIX, Models, Schema
from resources.defined import RESERVED

HIDDEN = "***"
NAMES = re.compile("token|passw|secret|credential|api_?key|private_?key", re.IGNORECASE)
"""What fields with something that is nobody else's business are called."""


class Concealer:
    """Of one kind. `models` None: nobody can say what its fields are, and the values of all of them go."""

    def __init__(self, kind: str, models: Models | None) -> None:
        self._kind = kind
        self._models = models
        self.taken: set[str] = set()
        """Texts of secrets that were taken out: they may stand elsewhere too."""

    def shown(self, document: dict[str, Any]) -> dict[str, Any]:
        """The same resource, with stars in the place of such values in spec and status."""
        parts = {part: self._part(part, document[part]) for part in ("spec", "status") if part in document}
        return document | parts

    def _part(self, part: str, value: Any) -> Any:
        runtimes = {key: inner for key, inner in value.items() if part == "status" and key in RESERVED}
        own = {key: inner for key, inner in value.items() if key not in runtimes}
        if self._models is None:
            return _hidden(own) | runtimes
        return self._seen(self._models.schemas.get(f"{PREFIX}{self._kind}.{part}", {}), own) | runtimes

    def _seen(self, schema: Schema, value: Any) -> Any:
        assert self._models is not None
        schema = self._models.resolved(schema)
        if schema.get("format") == "password" or schema.get("writeOnly") is True:
            return self._secret(value)
        options = [one for word in ("anyOf", "oneOf") for one in schema.get(word, ())]
        match value:
            case dict() if not options:
                fields = {_folded(name): one for name, one in schema.get("properties", {}).items()}
                rest = schema.get("additionalProperties", schema.get("type") != "object")
                return {key: self._field(key, fields.get(_folded(key), rest), inner) for key, inner in value.items()}
            case list() if not options:
                items = schema.get("items", schema.get("type") != "array")
                return [self._field("", items, inner) for inner in value]
        for option in options:
            value = self._seen(option, value)
        return value

    def _field(self, key: str, schema: Schema | bool, value: Any) -> Any:
        """`schema` says whether anything may stand there, where it is none: what a model does not tell of goes."""
        if NAMES.search(key):
            return self._secret(value)
        if schema is False:
            return _hidden(value)
        return self._seen({} if schema is True else schema, value)

    def _secret(self, value: Any) -> Any:
        self.taken |= set(_texts(value))
        return _hidden(value)


def _hidden(value: Any) -> Any:
    match value:
        case dict():
            return {key: _hidden(inner) for key, inner in value.items()}
        case list():
            return [_hidden(inner) for inner in value]
        case None | bool():
            return value
        case _:
            return HIDDEN


def _texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            yield from (text for inner in value.values() for text in _texts(inner))
        case list():
            yield from (text for inner in value for text in _texts(inner))
        case str():
            yield value


def _folded(name: str) -> str:
    """A manifest may write a field as the model does, or as the wire."""
    return name.replace("_", "").lower()
