"""YAML 1.2 core, strictly: no aliases, no tags, no duplicate keys, no dates; what JSON cannot say is refused."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from cli import messages
from cli.reading.json_reader import checked_float, checked_integer
from cli.reading.place import MAX_DEPTH, Malformed, Placed, step

NULL = re.compile(r"null|Null|NULL|~|")
BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
DECIMAL = re.compile(r"[-+]?[0-9]+", re.ASCII)
OCTAL = re.compile(r"0o[0-7]+")
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
CONSTANT = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def read_yaml(text: str) -> list[Placed]:
    """Every document of a text that is not empty. Raises Malformed."""
    found = []
    builder = _Builder()
    try:
        for event in _events(text):
            builder.take(event)
            if isinstance(event, DocumentEndEvent):
                if not builder.empty:
                    found.append(Placed(builder.value, builder.offsets, builder.start))
                builder = _Builder()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "not YAML").split())
        raise Malformed(problem, mark.index if mark is not None else 0) from None
    except ReaderError as error:
        raise Malformed("character that YAML does not allow", int(error.position)) from None
    return found


def _events(text: str) -> Iterator[Event]:
    yaml = YAML(typ="safe", pure=True)
    yield from yaml.parse(io.StringIO(text))


@dataclass
class _Open:
    """An object or a list that is not closed yet."""

    value: dict[str, Any] | list[Any]
    path: str
    key: str | None = None


@dataclass
class _Builder:
    """Events become one value; the stack holds what is open, so depth is counted and never recursed."""

    value: Any = None
    empty: bool = True
    start: int = 0
    offsets: dict[str, int] = field(default_factory=dict)
    stack: list[_Open] = field(default_factory=list)

    def take(self, event: Event) -> None:
        at = event.start_mark.index if event.start_mark is not None else 0
        if isinstance(event, AliasEvent):
            raise Malformed(messages.ALIAS, at, self.path())
        if isinstance(event, ScalarEvent):
            self.scalar(event, at)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            if len(self.stack) >= MAX_DEPTH:
                raise Malformed(messages.TOO_DEEP.format(limit=MAX_DEPTH), at)
            self.refuse_tag(event, at)
            opened: dict[str, Any] | list[Any] = {} if isinstance(event, MappingStartEvent) else []
            path = self.add(opened, at)
            self.stack.append(_Open(opened, path))
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self.stack.pop()

    def path(self) -> str:
        """Of the value that comes next."""
        if not self.stack:
            return ""
        top = self.stack[-1]
        if isinstance(top.value, list):
            return step(top.path, len(top.value))
        return step(top.path, top.key) if top.key is not None else top.path

    def refuse_tag(self, event: Any, at: int) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and str(tag) not in ("", "!"):
            raise Malformed(messages.TAG.format(tag=tag), at, self.path())

    def scalar(self, event: ScalarEvent, at: int) -> None:
        self.refuse_tag(event, at)
        quoted = event.style in ("'", '"', "|", ">") or str(event.tag or "") == "!"
        value = event.value if quoted else _plain(event.value, at, self.path())
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise Malformed(messages.NOT_UNICODE, at, self.path())
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and top.key is None:
            self.open_key(top, value, at)
        elif top is not None or event.value or quoted:
            self.add(value, at)

    def open_key(self, top: _Open, key: object, at: int) -> None:
        if not isinstance(key, str):
            raise Malformed(messages.KEY_NOT_TEXT.format(found=_named(key)), at, top.path)
        below = step(top.path, key)
        if key in top.value:
            raise Malformed(messages.DUPLICATE_KEY.format(key=key), at, below)
        top.key = key
        self.offsets[below] = at

    def add(self, value: Any, at: int) -> str:
        """Puts a value where it belongs and says where that is."""
        path = self.path()
        if not self.stack:
            self.value, self.empty, self.start = value, False, at
            return path
        top = self.stack[-1]
        if isinstance(top.value, list):
            self.offsets[path] = at
            top.value.append(value)
        elif top.key is None:
            raise Malformed(messages.KEY_NOT_TEXT.format(found=_named(value)), at, top.path)
        else:
            top.value[top.key] = value
            top.key = None
        return path


def _plain(text: str, at: int, path: str) -> Any:
    """A plain scalar by the core schema."""
    if NULL.fullmatch(text):
        return None
    if BOOL.fullmatch(text):
        return text[0] in "tT"
    if DECIMAL.fullmatch(text):
        return checked_integer(text, 10, at, path)
    if OCTAL.fullmatch(text):
        return checked_integer(text[2:], 8, at, path)
    if HEXADECIMAL.fullmatch(text):
        return checked_integer(text[2:], 16, at, path)
    if FLOAT.fullmatch(text):
        return checked_float(text, at, path)
    if CONSTANT.fullmatch(text):
        name = "NaN" if text.lstrip("+-.")[0] in "nN" else "-Infinity" if text[0] == "-" else "Infinity"
        raise Malformed(messages.CONSTANT.format(name=name), at, path)
    return text


def _named(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            return str(value)
