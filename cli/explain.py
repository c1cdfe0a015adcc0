"""`rmctl explain`: the fields of a kind, what each may hold, and what it holds unless told otherwise."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cli.errors import UsageProblem
from cli.models import Models, Schema, models
from cli.output import emit
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe

WIDTH = 100
STEP = re.compile(r"[^.\[\]]+")
DEEPEST = 8


def explain(
    context: typer.Context,
    path: Annotated[str, typer.Argument(metavar="KIND[.FIELD]...", help="such as bundle.spec.jobs")],
    recursive: Annotated[bool, typer.Option("--recursive", help="the fields inside the fields too")] = False,
) -> int:
    """Print what a kind or a field of it is made of. No server is needed for the built-in kinds."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    word, *steps = STEP.findall(path.replace("/", ".")) or [""]
    kind, found = models(session, word)
    schema, walked = found.resolved(found.of(kind.name)), kind.name
    for step in steps:
        schema, walked = _below(found, schema, step, walked)
    if form:
        emit({"path": walked, "schema": schema}, form)
        return 0
    _print(found, schema, walked, recursive=recursive)
    return 0


def _below(found: Models, schema: Schema, step: str, walked: str) -> tuple[Schema, str]:
    """A field of an object, of the items of a list, or of the values of a mapping."""
    inner, shown = opened(found, schema, walked)
    fields = inner.get("properties") or {}
    if step in fields:
        return found.resolved(fields[step]), f"{shown}.{step}"
    rest = inner.get("additionalProperties")
    if isinstance(rest, dict) and not fields:
        return found.resolved(rest), f"{shown}.{step}"
    from difflib import get_close_matches

    near = get_close_matches(step, fields, n=1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    known = f"fields: {', '.join(fields)}" if fields else f"{shown} has no fields"
    raise UsageProblem(f'{shown} has no field "{safe(step)}"{guess}', hint=known)


def opened(found: Models, schema: Schema, walked: str = "") -> tuple[Schema, str]:
    """The object inside lists and alternatives."""
    schema = found.resolved(schema)
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        return opened(found, schema["items"], f"{walked}[]")
    for option in schema.get("anyOf", ()):
        inner = found.resolved(option)
        if inner.get("properties") or inner.get("type") == "array":
            return opened(found, inner, walked)
    return schema, walked


def _print(found: Models, schema: Schema, walked: str, *, recursive: bool) -> None:
    out(safe(f"{walked}  {_kind(found, schema)}"))
    inner, shown = opened(found, schema, walked)
    for text in _told(schema, inner):
        out()
        out_lines(map(safe, textwrap.wrap(" ".join(text.split()), WIDTH)))
    notes = _notes(schema)
    if notes:
        out()
        out(safe(notes[:1].upper() + notes[1:]))
    if inner.get("properties"):
        out()
        out(safe(f"Fields of {shown}"))
        rows = list(rows_of(found, inner, "", recursive=recursive))
        out_lines(f"  {line}" for line in lines(rows))


def _told(schema: Schema, inner: Schema) -> Iterator[str]:
    texts = (schema.get("description"), inner.get("description"))
    yield from dict.fromkeys(str(text) for text in texts if text)


def rows_of(
    found: Models, schema: Schema, above: str, *, recursive: bool, depth: int = 0
) -> Iterator[tuple[str, str, str]]:
    """Name, kind and notes, one row a field."""
    for name, field in (schema.get("properties") or {}).items():
        whole = found.resolved(field)
        needed = "required" if name in schema.get("required", ()) else ""
        notes = "; ".join(part for part in (needed, _notes(whole)) if part)
        yield (f"{above}{name}", _kind(found, whole), notes)
        inner, shown = opened(found, whole, f"{above}{name}")
        if recursive and depth < DEEPEST and inner.get("properties"):
            yield from rows_of(found, inner, f"{shown}.", recursive=True, depth=depth + 1)


def _kind(found: Models, schema: Schema) -> str:
    """The type in a word or two: `integer`, `[text]`, `{text: number}`, `Ready | delete`."""
    schema = found.resolved(schema)
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    options = schema.get("anyOf")
    if options:
        return " | ".join(dict.fromkeys(_kind(found, option) for option in options))
    match schema.get("type"):
        case "array":
            return f"[{_kind(found, schema.get('items') or {})}]"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"{{text: {_kind(found, schema['additionalProperties'])}}}"
        case "string":
            return "time" if schema.get("format") == "date-time" else "text"
        case str(name):
            return name
        case _:
            return "object" if schema.get("properties") else "any"


BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "pattern": "must match {}",
}
OPEN_BOUNDS = {"minimum": "above {}", "maximum": "below {}"}


def _notes(schema: Schema) -> str:
    """The default and the bounds."""
    parts = []
    if schema.get("default") is not None and not isinstance(schema["default"], dict):
        parts.append(f"{_json(schema['default'])} unless given")
    for key, text in BOUNDS.items():
        if key in schema:
            above = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}.get(key, "")
            words = OPEN_BOUNDS[key] if schema.get(above) is True else text
            parts.append(words.format(schema[key]))
    return ", ".join(parts)


def _json(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
