"""Reading: what is stored of a resource, as far as the definition's models of today understand it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from copy import deepcopy
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, create_model

from controllers.definitions.sdk import Definition
from resources.canonical import Document
from resources.validation import Invalid, parse

M = TypeVar("M", bound=BaseModel)


def spec_of(definition: Definition, stored: Document, *, deleting: bool) -> Any:
    """Fields that the model does not have any more are passed over. Raises Invalid for one that does not fit.

    A resource that is being deleted must be able to go: what does not fit is passed over there, too.
    """
    known = _known(definition.spec, stored)
    try:
        return parse(definition.spec, known)
    except Invalid:
        if not deleting:
            raise
        return _understood(definition.spec, known)


def status_of(definition: Definition, stored: Document, spec: Any, *, deleting: bool) -> Any:
    """What an older version of the definition left behind counts as far as it is understood, else as nothing yet."""
    model = definition.status
    if model is None:
        return stored
    try:
        return model.model_validate(stored)
    except ValidationError as error:
        wrong = {one["loc"][0] for one in error.errors() if one["loc"] and one["type"] != "missing"}
    try:
        return model.model_validate({key: value for key, value in stored.items() if key not in wrong})
    except ValidationError:
        pass
    try:
        return model.model_validate(definition.first_status(spec))
    except Exception:
        if not deleting:
            raise
        return _understood(model, stored)


def _known(model: type[BaseModel], stored: Document) -> Document:
    """Without the fields, at any depth, that the model refuses because it has none of that name."""
    try:
        model.model_validate(stored)
    except ValidationError as error:
        places = [one["loc"] for one in error.errors() if one["type"] == "extra_forbidden"]
    else:
        return stored
    known = deepcopy(stored)
    for place in places:
        _drop(known, place)
    return known


def _drop(value: Any, place: Iterable[int | str]) -> None:
    """Nothing where the place leads through a choice of models: which one is meant is not known."""
    *way, last = place
    for part in way:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return
    if isinstance(value, dict):
        value.pop(last, None)


def _understood(model: type[M], stored: Document) -> M:
    """Of the fields that fit, each by itself. Others have their default; one that has none is not there at all."""
    fits: Document = {}
    for name, field in model.model_fields.items():
        alone: dict[str, Any] = {name: (field.annotation, field)}
        part = create_model(model.__name__, __config__=model.model_config, **alone)
        mine = {key: stored[key] for key in (field.alias, name) if key in stored}
        with suppress(ValidationError):
            fits[field.alias or name] = getattr(part.model_validate(mine), name)
    return model.model_construct(**fits)
