"""From a document to a spec, or to the list of what is wrong with it, each with its field and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from resources.broken_rules import BrokenRule
from resources.canonical import Document
from resources.frozen import spelled
from resources.resource import Spec

M = TypeVar("M", bound=BaseModel)
PREFERRED = {"restart": "avoidSpare", "always": "avoidSpare", "restrat": "avoidSpare"}


@dataclass(frozen=True)
class FieldError:
    """`path` such as `spec.jobs[1].requirements`; `message` says what is allowed; `hint` names a cure."""

    path: str
    message: str
    hint: str = ""
    unknown: bool = False
    code: str = ""
    """Stable, for programs; only some problems have one."""

    def __str__(self) -> str:
        return self.message if self.unknown else f"{self.path}: {self.message}" if self.path else self.message


class Invalid(Exception):
    """A document that cannot be taken; carries every problem found."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = tuple(errors)


def parse(model: type[M], document: object, *, path: str = "spec") -> M:
    """The model of a document. Raises Invalid with all problems."""
    if not isinstance(document, dict):
        raise Invalid([FieldError(path, f"expected an object, got {spelled(document)}")])
    rules = [FieldError(f"{path}.{rule.field}", rule.words, code=rule.code) for rule in _broken(model, document)]
    try:
        parsed = model.model_validate(document)
    except ValidationError as error:
        raise Invalid(_translated(model, _own(error.errors(include_url=False)), path) + rules) from None
    if rules:
        raise Invalid(rules)
    return parsed


def _broken(model: type[BaseModel], document: Document) -> Iterable[BrokenRule]:
    return model.broken_rules(document) if issubclass(model, Spec) else ()


def _own(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Less the lists that are too short only because what is wrong inside of them was not counted."""
    places = [error["loc"] for error in errors]
    return [
        error
        for error in errors
        if error["type"] != "too_short"
        or not any(len(place) > len(error["loc"]) and place[: len(error["loc"])] == error["loc"] for place in places)
    ]


def _translated(model: type[BaseModel], errors: Iterable[ErrorDetails], path: str) -> list[FieldError]:
    found: dict[str, FieldError] = {}
    told = list(errors)
    for error in told:
        if _follows(error, told):
            continue
        problem = _one(model, error, path)
        found.setdefault(problem.path + problem.message * problem.unknown, problem)
    return list(found.values())


def _follows(error: ErrorDetails, others: Iterable[ErrorDetails]) -> bool:
    """Whether it only follows from another that is told itself: items with errors are not counted, and a default may
    not be reached."""
    if error["type"] == "too_short":
        depth = len(error["loc"])
        return any(len(other["loc"]) > depth and other["loc"][:depth] == error["loc"] for other in others)
    return error["type"] == "default_factory_not_called"


_EXPECTED = {
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_LIMITS = {
    "greater_than": "must be > {gt:.10g}",
    "greater_than_equal": "must be >= {ge:.10g}",
    "less_than": "must be < {lt:.10g}",
    "less_than_equal": "must be <= {le:.10g}",
    "too_short": "at least {min_length} needed",
    "too_long": "at most {max_length}",
    "string_too_short": "must not be empty",
    "string_too_long": "at most {max_length} characters",
}


def _one(model: type[BaseModel], error: ErrorDetails, path: str) -> FieldError:
    where = _path(error, path)
    value, context = error["input"], error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            return _unknown(model, error, where)
        case "missing":
            return FieldError(where, "required", _required_hint(where))
        case "literal_error":
            return _choice(where, value, str(context["expected"]))
        case "value_error":
            return _inner(where, str(context["error"]))
        case kind if kind in _EXPECTED:
            return FieldError(where, f"expected {_EXPECTED[kind]}, got {spelled(value)}")
        case kind if kind in _LIMITS:
            return FieldError(where, _LIMITS[kind].format(**context), code=_limit_code(where, kind))
        case _:
            return FieldError(where, error["msg"])


def _limit_code(where: str, kind: str) -> str:
    return "emptyPoolName" if kind == "string_too_short" and where.endswith(("spec.pool", "Policy.pool")) else ""


def _inner(where: str, text: str) -> FieldError:
    """A model's own rule may name the field below it: `jobs[0].coLocateWith: no job …`."""
    head, colon, rest = text.partition(": ")
    if colon and head.replace("[", "").replace("]", "").replace(".", "").isalnum() and head[0].islower():
        return FieldError(f"{where}.{head}", rest)
    return FieldError(where, text)


def _path(error: ErrorDetails, path: str) -> str:
    """Union members and model names that pydantic puts between fields are left out."""
    text = path
    for part in error["loc"]:
        if isinstance(part, int):
            text += f"[{part}]"
        elif (
            part
            and part[0].islower()
            and "[" not in part
            and "-" not in part
            and part not in ("int", "str", "float", "bool", "constrained-str")
        ) or (part and part[0].isupper() and part.isupper()):
            text += f".{part}"
    return text


def _unknown(model: type[BaseModel], error: ErrorDetails, where: str) -> FieldError:
    name = str(error["loc"][-1])
    near = difflib.get_close_matches(name, _fields(model, error["loc"][:-1]), n=1, cutoff=0.6)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return FieldError(where, f"unknown field {where}{hint}", unknown=True)


def _fields(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    schema: dict[str, Any] = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    current = schema
    for part in location:
        current = _resolved(current, definitions)
        if isinstance(part, int):
            current = current.get("items", {})
        else:
            current = current.get("properties", {}).get(part, {})
    return list(_resolved(current, definitions).get("properties", {}))


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    for option in schema.get("anyOf", ()):
        if "$ref" in option:
            schema = option
            break
    if "$ref" in schema:
        resolved: dict[str, Any] = definitions[schema["$ref"].rsplit("/", 1)[1]]
        return resolved
    return schema


def _choice(where: str, value: object, expected: str) -> FieldError:
    choices = [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    listed = ", ".join(choices)
    if not isinstance(value, str):
        return FieldError(where, f"expected one of {listed}, got {spelled(value)}")
    near = difflib.get_close_matches(value, choices, n=1, cutoff=0.5)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return FieldError(where, f'"{value}" is not one of {listed}{guess}', _required_hint(where))


def _required_hint(where: str) -> str:
    if where.endswith("onRuntimeFailure"):
        return "most jobs want avoidSpare (start again, leave warm spares alone)"
    return ""
