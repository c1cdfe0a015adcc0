"""JSON read strictly: nothing that Python's reader lets pass beyond what JSON, 64-bit integers and Unicode allow."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from api.http.problems import bad_request
from resources.canonical import MAX_DEPTH

STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
LIMIT = 2**63


class _Bad:
    """Stands where a value could not be taken, until its path is known."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


class _Twice(dict[str, Any]):
    """An object that named a key twice."""

    key = ""


def loads(body: bytes) -> Any:
    """The value of a body. Raises a 400 problem that names the path of what is wrong."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad_request(f"not UTF-8 at byte {error.start}") from None
    if not text.strip():
        raise bad_request("empty body")
    if deep(text):
        raise bad_request(f"nesting deeper than {MAX_DEPTH}")
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
        )
    except json.JSONDecodeError as error:
        raise bad_request(_said(error, text)) from None
    check(value)
    return value


def check(value: Any, path: str = "") -> None:
    """Refuses what cannot be stored anywhere in a value that was read. Raises a 400 problem."""
    match value:
        case _Bad():
            raise bad_request(f"{path}: {value.problem}" if path else value.problem)
        case str():
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                raise bad_request(f"{path or 'text'}: not valid Unicode text")
        case float():
            if not math.isfinite(value):
                raise bad_request(f"{path}: number out of range")
        case bool():
            pass
        case int():
            if not -LIMIT <= value < LIMIT:
                raise bad_request(f"{path}: integer outside the 64-bit range")
        case dict():
            if isinstance(value, _Twice):
                raise bad_request(f'{path + ": " if path else ""}duplicate key "{value.key}"')
            for key, inner in value.items():
                check(str(key), f"{path} (a key)" if path else "a key")
                check(inner, f"{path}.{key}" if path else str(key))
        case list():
            for index, inner in enumerate(value):
                check(inner, f"{path}[{index}]")


def deep(text: str) -> bool:
    """Whether brackets outside of texts nest deeper than allowed; found without recursion."""
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = _Twice(found)
    twice.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return twice


def _integer(digits: str) -> Any:
    if len(digits) > 20 or not -LIMIT <= int(digits) < LIMIT:
        return _Bad("integer outside the 64-bit range")
    return int(digits)


def _float(digits: str) -> Any:
    value = float(digits)
    return value if math.isfinite(value) else _Bad("number out of range")


def _constant(name: str) -> Any:
    return _Bad(f"{name} is not JSON")


def _said(error: json.JSONDecodeError, text: str) -> str:
    where = f"{error.lineno}:{error.colno}"
    if error.msg == "Extra data":
        return f"{where}: data after the end of the document"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return f"{where}: unexpected end of JSON"
    return f"{where}: not JSON: {error.msg[0].lower()}{error.msg[1:]}"
