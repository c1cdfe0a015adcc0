"""What the texts of rows mean; a text that is read again and again is parsed once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from resources.canonical import Document

T = TypeVar("T")
REMEMBERED = 4096
LONGEST = 8192
"""Characters of a text that is worth remembering."""


def remembered(parse: Callable[[Any, str], T]) -> Callable[[Any, str], T]:
    """The values are frozen, and nobody changes a document that was read, so all readers may share them."""
    quick = lru_cache(REMEMBERED)(parse)
    return lambda model, text: quick(model, text) if len(text) <= LONGEST else parse(model, text)


@remembered
def spec(model: Any, text: str) -> tuple[Document, Any]:
    """A spec as it was asked for, and the same with defaults."""
    document: Document = json.loads(text)
    return document, model.model_validate(document)


@remembered
def status(model: Any, text: str) -> Any:
    return model.model_validate_json(text)


@remembered
def plain(_model: Any, text: str) -> Any:
    """Labels, annotations, finalizers, requests of effects."""
    return json.loads(text)
