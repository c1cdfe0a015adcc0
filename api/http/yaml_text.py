"""YAML bodies of apply patches: 1.2 core, no aliases, no duplicate keys, no dates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

from api.http import strict_json
from api.http.problems import bad_request
from resources.canonical import MAX_DEPTH

MAX_EVENTS = 500_000


class _PlainConstructor(SafeConstructor):
    """Dates stay the text that they are."""


_PlainConstructor.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def loads(body: bytes) -> Any:
    """The one document of a body; JSON is YAML too. Raises a 400 problem."""
    if body.lstrip()[:1] in (b"{", b"["):
        return strict_json.loads(body)
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad_request(f"not UTF-8 at byte {error.start}") from None
    try:
        _look(_reader().parse(text))
        value = _reader().load(text)
    except (YAMLError, ValueError) as error:
        raise bad_request(f"not YAML: {_line(error)}") from None
    strict_json.check(value)
    return value


def _reader() -> YAML:
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = _PlainConstructor
    return reader


def _look(events: Iterator[Any]) -> None:
    """Refuses, before anything is built, what would grow while it is built."""
    depth = 0
    for count, event in enumerate(events):
        if isinstance(event, AliasEvent):
            raise bad_request("aliases are not allowed")
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise bad_request(f"nesting deeper than {MAX_DEPTH}")
        if count > MAX_EVENTS:
            raise bad_request(f"more than {MAX_EVENTS} values")


def _line(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    where = f"{mark.line + 1}:{mark.column + 1}: " if mark is not None else ""
    return where + " ".join(str(problem).split())
