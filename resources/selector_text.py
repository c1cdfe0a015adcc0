"""The one reader of selectors as text: labels as Kubernetes spells them, fields, and the shorthand for devices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from resources.selectors import (
    KEY,
    MAX_EXPRESSIONS,
    MAX_VALUES,
    SIGNS,
    VALUE,
    Expression,
    Operator,
    Selector,
    SelectorError,
    checked,
)

Dialect = Literal["labels", "devices"]
WORD = re.compile(r"[^\s,()=!<>\"]+")
QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)
ANOTHER = re.compile(r",\s*-?[0-9]+\s*(,|$)", re.ASCII)


def parse(text: str) -> Selector:
    """The label selector behind a text; blank text selects everything. Raises SelectorError."""
    return _parsed(text, "labels")


def parse_devices(text: str) -> Selector:
    """The device selector behind its shorthand, `gpuProduct in (A, B), vramGiB >= 80`. Raises SelectorError."""
    return _parsed(text, "devices")


def parse_fields(text: str, allowed: tuple[str, ...]) -> Selector:
    """A field selector: `PATH=VALUE`, `==` and `!=`, joined by commas, over the allowed paths. Raises SelectorError."""
    expressions = []
    column = 1
    for part in text.split(",") if text.strip() else ():
        match = re.fullmatch(r"\s*([^=!\s]+)\s*(!=|==?)\s*(\S*)\s*", part)
        if match is None:
            raise SelectorError(column, "expected FIELD=VALUE or FIELD!=VALUE")
        if match[1] not in allowed:
            raise SelectorError(column, f'field "{match[1]}" cannot be selected by; use {", ".join(allowed)}')
        expressions.append(Expression(match[1], "NotIn" if match[2] == "!=" else "In", (match[3],)))
        column += len(part) + 1
    return Selector(tuple(expressions))


def _parsed(text: str, dialect: Dialect) -> Selector:
    if not text.strip():
        return Selector()
    reader = _Reader(text, dialect)
    expressions = [_expression(reader)]
    while not reader.at_end():
        reader.expect(",")
        expressions.append(_expression(reader))
    if len(expressions) > MAX_EXPRESSIONS:
        raise SelectorError(1, f"at most {MAX_EXPRESSIONS} expressions")
    return Selector(tuple(expressions))


class _Reader:
    """A position in the text, blanks skipped before every token."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text = text
        self.at = 0
        self.devices = dialect == "devices"

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    @property
    def column(self) -> int:
        return self.at + 1

    def at_end(self) -> bool:
        self.skip()
        return self.at >= len(self.text)

    def take(self, token: str) -> bool:
        self.skip()
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise SelectorError(self.column, f"expected {token!r}")

    def word(self, pattern: re.Pattern[str] = WORD) -> str:
        self.skip()
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def made(self, column: int, key: str, operator: Operator, *values: str) -> Expression:
        """The expression, held against the rules of its dialect."""
        if not self.devices:
            kept: tuple[str | int, ...] = tuple(map(int, values)) if operator in SIGNS.values() else values
            return Expression(key, operator, kept)
        try:
            return checked(key, operator, values)
        except ValueError as error:
            raise SelectorError(column, str(error)) from None


def _expression(reader: _Reader) -> Expression:
    reader.skip()
    start = reader.column
    if reader.take("!"):
        return reader.made(start, _key(reader), "DoesNotExist")
    key = _key(reader)
    if reader.take("!="):
        return reader.made(start, key, "NotIn", _value(reader))
    if reader.take("==") or reader.take("="):
        return reader.made(start, key, "In", _value(reader))
    for sign, operator in SIGNS.items():
        if reader.take(sign):
            return reader.made(reader.column, key, operator, _number(reader, sign))
    if reader.at_end() or reader.text[reader.at] == ",":
        return reader.made(start, key, "Exists")
    return _set(reader, start, key)


def _set(reader: _Reader, start: int, key: str) -> Expression:
    column = reader.column
    word = reader.word()
    if word == "in":
        return reader.made(start, key, "In", *_values(reader))
    if word == "notin":
        return reader.made(start, key, "NotIn", *_values(reader))
    raise SelectorError(column, "expected =, ==, !=, >, >=, <, <=, in, notin, a comma or the end")


def _key(reader: _Reader) -> str:
    reader.skip()
    start = reader.column
    word = reader.word()
    if not word:
        raise SelectorError(start, "expected a key")
    if not reader.devices and not KEY.fullmatch(word):
        raise SelectorError(start, f'"{word}" is not a label key')
    return word


def _value(reader: _Reader) -> str:
    reader.skip()
    start = reader.column
    if reader.devices:
        return _device_value(reader, start)
    word = reader.word()
    if not VALUE.fullmatch(word):
        raise SelectorError(start, f'"{word}" is not a label value')
    return word


def _device_value(reader: _Reader, start: int) -> str:
    quoted = reader.word(QUOTED)
    if quoted:
        return re.sub(r"\\(.)", r"\1", quoted[1:-1])
    word = reader.word()
    if not word:
        raise SelectorError(start, "expected a value")
    return word


def _number(reader: _Reader, sign: str) -> str:
    """What follows a comparison: one number, and then nothing but the next expression. Labels know whole ones only."""
    reader.skip()
    start = reader.column
    word = reader.word()
    rest = reader.text[reader.at :].lstrip()
    if ANOTHER.match(rest) or (not reader.devices and not WHOLE.fullmatch(word)):
        raise SelectorError(start, f"{sign} takes exactly one number")
    return word


def _values(reader: _Reader) -> tuple[str, ...]:
    reader.expect("(")
    start = reader.column
    values = _listed(reader, _value)
    reader.expect(")")
    if values == [""] and not reader.devices:
        raise SelectorError(start, "expected at least one value")
    if len(values) > MAX_VALUES:
        raise SelectorError(start, f"at most {MAX_VALUES} values")
    return tuple(values)


def _listed(reader: _Reader, one: Callable[[_Reader], str]) -> list[str]:
    values = [one(reader)]
    while reader.take(","):
        values.append(one(reader))
    return values
