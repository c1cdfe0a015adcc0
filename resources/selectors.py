"""Label and field selectors: `env=prod,tier!=web,zone in (a,b),!spare` against the labels of a resource."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "!=", "in", "notin", "exists", "!", ">", "<"]
MAX_EXPRESSIONS = 32
MAX_VALUES = 64
KEY = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)
VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
WORD = re.compile(r"[^\s,()=!<>]+")
NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
ANOTHER = re.compile(r",\s*-?[0-9]+\s*(,|$)", re.ASCII)


class SelectorError(ValueError):
    """`column` counts from 1 in the text of the selector."""

    def __init__(self, column: int, problem: str) -> None:
        super().__init__(f"selector: column {column}: {problem}")
        self.column = column


@dataclass(frozen=True)
class Expression:
    """One condition on one key. A missing key satisfies `!=`, `notin` and `!`."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "=" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
            case ">" | "<":
                return value is not None and _compared(value, self.operator, int(self.values[0]))


@dataclass(frozen=True)
class Selector:
    """All expressions must hold; without any, everything matches."""

    expressions: tuple[Expression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(expression.matches(labels) for expression in self.expressions)

    def __bool__(self) -> bool:
        return bool(self.expressions)


def parse(text: str) -> Selector:
    """The selector behind a text; blank text selects everything. Raises SelectorError."""
    if not text.strip():
        return Selector()
    reader = _Reader(text)
    expressions = [_expression(reader)]
    while not reader.at_end():
        reader.expect(",")
        expressions.append(_expression(reader))
    if len(expressions) > MAX_EXPRESSIONS:
        raise SelectorError(1, f"at most {MAX_EXPRESSIONS} expressions")
    return Selector(tuple(expressions))


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
        expressions.append(Expression(match[1], "!=" if match[2] == "!=" else "=", (match[3],)))
        column += len(part) + 1
    return Selector(tuple(expressions))


class _Reader:
    """A position in the text, blanks skipped before every token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

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

    def word(self) -> str:
        self.skip()
        match = WORD.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]


def _expression(reader: _Reader) -> Expression:
    if reader.take("!"):
        return Expression(_key(reader), "!")
    key = _key(reader)
    if reader.take("!="):
        return Expression(key, "!=", (_value(reader),))
    if reader.take("==") or reader.take("="):
        return Expression(key, "=", (_value(reader),))
    if reader.take(">"):
        return Expression(key, ">", (_number(reader, ">"),))
    if reader.take("<"):
        return Expression(key, "<", (_number(reader, "<"),))
    if reader.at_end() or reader.text[reader.at] == ",":
        return Expression(key, "exists")
    start = reader.column
    word = reader.word()
    if word == "in":
        return Expression(key, "in", _values(reader))
    if word == "notin":
        return Expression(key, "notin", _values(reader))
    raise SelectorError(start, "expected =, ==, !=, >, <, in, notin, a comma or the end")


def _key(reader: _Reader) -> str:
    reader.skip()
    start = reader.column
    word = reader.word()
    if not word:
        raise SelectorError(start, "expected a key")
    if not KEY.fullmatch(word):
        raise SelectorError(start, f'"{word}" is not a label key')
    return word


def _value(reader: _Reader) -> str:
    reader.skip()
    start = reader.column
    word = reader.word()
    if not VALUE.fullmatch(word):
        raise SelectorError(start, f'"{word}" is not a label value')
    return word


def _number(reader: _Reader, sign: str) -> str:
    """What follows a comparison: one whole number, and then nothing but the next expression."""
    reader.skip()
    start = reader.column
    word = reader.word()
    rest = reader.text[reader.at :].lstrip()
    if not NUMBER.fullmatch(word) or ANOTHER.match(rest):
        raise SelectorError(start, f"{sign} takes exactly one number")
    return word


def _compared(value: str, sign: str, bound: int) -> bool:
    """A label that is no number is neither above nor below."""
    if not NUMBER.fullmatch(value):
        return False
    return int(value) > bound if sign == ">" else int(value) < bound


def _values(reader: _Reader) -> tuple[str, ...]:
    reader.expect("(")
    start = reader.column
    values = [_value(reader)]
    while reader.take(","):
        values.append(_value(reader))
    reader.expect(")")
    if values == [""]:
        raise SelectorError(start, "expected at least one value")
    if len(values) > MAX_VALUES:
        raise SelectorError(start, f"at most {MAX_VALUES} values")
    return tuple(values)
