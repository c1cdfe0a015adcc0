"""Selectors of labels, fields and devices: expressions on keys, all of which must hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from resources.canonical import Document

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Gte", "Lt", "Lte"]
Scalar = str | int | float | bool
OPERATORS: tuple[Operator, ...] = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Gte", "Lt", "Lte")
SIGNS: dict[str, Operator] = {">=": "Gte", "<=": "Lte", ">": "Gt", "<": "Lt"}
MAX_EXPRESSIONS = 32
MAX_VALUES = 64
MAX_KEY = 317
KEY = re.compile(
    r"(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)
VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*", re.ASCII)
"""The key of a device's attribute."""
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
PLAIN_VALUE = re.compile(r"[^\s,()=!<>\"]+")
"""What a shorthand spells without quotes."""


class SelectorError(ValueError):
    """`column` counts from 1 in the text of the selector."""

    def __init__(self, column: int, problem: str) -> None:
        super().__init__(f"selector: column {column}: {problem}")
        self.column = column


@dataclass(frozen=True)
class Expression:
    """One condition on one key. A missing key satisfies NotIn and DoesNotExist, and nothing else.

    Values of In and NotIn are texts, that of a comparison is a number.
    """

    key: str
    operator: Operator
    values: tuple[str | int | float, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether one value is asked for, and no other."""
        return self.operator == "In" and len(self.values) == 1

    def holds(self, value: Scalar | None) -> bool:
        """None is a key that is missing, or null."""
        match self.operator:
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "In":
                return value is not None and spelling(value) in self.values
            case "NotIn":
                return value is None or spelling(value) not in self.values
        found = number(value)
        if found is None:
            return False
        bound = Decimal(str(self.values[0]))
        match self.operator:
            case "Gt":
                return found > bound
            case "Gte":
                return found >= bound
            case "Lt":
                return found < bound
        return found <= bound

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.holds(labels.get(self.key))


@dataclass(frozen=True)
class Selector:
    """All expressions must hold; without any, everything matches."""

    expressions: tuple[Expression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(expression.matches(labels) for expression in self.expressions)

    def __bool__(self) -> bool:
        return bool(self.expressions)

    def to_document(self) -> Document:
        """As a manifest writes it: {matchExpressions: [{key, op, values}]}."""
        return {"matchExpressions": [_plain(expression) for expression in self.expressions]}


ANYTHING = Selector()


def spelling(value: Scalar) -> str:
    """A value as In and NotIn compare it: text as it is, everything else as JSON, a whole float without its point."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)


def number(value: object) -> Decimal | None:
    """A finite number, or a text that is one in decimal; None for everything else, truth values too."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = value if isinstance(value, str) else repr(value)
    return Decimal(text) if NUMBER.fullmatch(text) else None


def from_document(document: object) -> Selector:
    """The selector of a manifest. Raises ValueError naming the field below it."""
    if not isinstance(document, Mapping) or set(document) != {"matchExpressions"}:
        raise ValueError("expected {matchExpressions: [{key, op, values}]} or its shorthand")
    listed = document["matchExpressions"]
    if not isinstance(listed, list | tuple):
        raise ValueError("matchExpressions: expected a list")
    if len(listed) > MAX_EXPRESSIONS:
        raise ValueError(f"matchExpressions: at most {MAX_EXPRESSIONS} expressions")
    return Selector(tuple(_expression(one, f"matchExpressions[{at}]") for at, one in enumerate(listed)))


def checked(key: str, operator: Operator, values: Iterable[Any]) -> Expression:
    """An expression over a device's attributes. Raises ValueError saying what is allowed."""
    given = tuple(values)
    if not ATTRIBUTE.fullmatch(key) or len(key) > MAX_KEY:
        raise ValueError(f'"{key}" is no key: a letter, then letters, digits and . _ / -')
    if len(given) > MAX_VALUES:
        raise ValueError(f"at most {MAX_VALUES} values")
    if any(not isinstance(value, str | int | float | bool) for value in given):
        raise ValueError("values are texts, numbers, true and false")
    match operator:
        case "Exists" | "DoesNotExist":
            if given:
                raise ValueError(f"{operator} takes no values")
            return Expression(key, operator)
        case "In" | "NotIn":
            if not given:
                raise ValueError("expected at least one value")
            return Expression(key, operator, tuple(map(spelling, given)))
    if len(given) != 1 or number(given[0]) is None:
        raise ValueError(f"{operator} takes exactly one number")
    return Expression(key, operator, (_as_number(given[0]),))


def formatted(selector: Selector) -> str:
    """The shorthand that reads back as the same selector."""
    return ", ".join(map(_shorthand, selector.expressions))


def _expression(document: object, where: str) -> Expression:
    if not isinstance(document, Mapping) or not {"key", "op"} <= set(document) <= {"key", "op", "values"}:
        raise ValueError(f"{where}: expected key, op and values")
    key, operator, values = document["key"], document["op"], document.get("values", ())
    if not isinstance(key, str):
        raise ValueError(f"{where}.key: expected text")
    if operator not in OPERATORS:
        raise ValueError(f'{where}.op: "{operator}" is not one of {", ".join(OPERATORS)}')
    if not isinstance(values, list | tuple):
        raise ValueError(f"{where}.values: expected a list")
    try:
        return checked(key, operator, values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _as_number(value: Any) -> int | float:
    exact = Decimal(str(value))
    return int(exact) if exact == exact.to_integral_value() and abs(exact) < 10**18 else float(exact)


def _plain(expression: Expression) -> Document:
    plain: Document = {"key": expression.key, "op": expression.operator}
    return plain | {"values": list(expression.values)} if expression.values else plain


def _shorthand(expression: Expression) -> str:
    key, values = expression.key, [_quoted(value) for value in expression.values]
    match expression.operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "In" | "NotIn" if len(values) == 1:
            return f"{key} {'=' if expression.operator == 'In' else '!='} {values[0]}"
        case "In" | "NotIn":
            return f"{key} {expression.operator.lower()} ({', '.join(values)})"
    sign = next(sign for sign, operator in SIGNS.items() if operator == expression.operator)
    return f"{key} {sign} {values[0]}"


def _quoted(value: str | float) -> str:
    if not isinstance(value, str):
        return spelling(value)
    if PLAIN_VALUE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
