"""A spec checked by its model; with a lenient `fieldValidation` unknown fields are left out instead of refused."""

from __future__ import annotations

import re
from typing import Any

from api.http.queries import Validation
from resources import merge
from resources.canonical import Document
from resources.registry import BY_NAME
from resources.validation import FieldError, Invalid, parse

STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def checked(kind: str, spec: Document, validation: Validation) -> tuple[Document, list[FieldError], list[str]]:
    """(the spec to store, what is wrong with it, warnings)."""
    try:
        parse(BY_NAME[kind].spec, spec)
    except Invalid as refused:
        errors = list(refused.errors)
    else:
        return merge.without_nulls(spec), [], []
    unknown = [error for error in errors if error.unknown]
    if validation == "Strict" or not unknown:
        return spec, errors, []
    for error in unknown:
        spec = _without(spec, _steps(error.path.removeprefix("spec")))
    pruned, left, _ = checked(kind, spec, "Strict")
    return pruned, left, [error.message for error in unknown] if validation == "Warn" else []


def _steps(path: str) -> list[str | int]:
    return [int(step[2]) if step[2] else step[1] for step in STEP.finditer(path)]


def _without(value: Any, steps: list[str | int]) -> Any:
    head, *rest = steps
    if isinstance(value, dict) and head in value:
        if not rest:
            return {key: inner for key, inner in value.items() if key != head}
        return {**value, head: _without(value[head], rest)}
    if isinstance(value, list) and isinstance(head, int) and head < len(value) and rest:
        return [*value[:head], _without(value[head], rest), *value[head + 1 :]]
    return value
