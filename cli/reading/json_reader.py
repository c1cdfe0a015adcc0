"""JSON as RFC 8259 says it: duplicate keys, NaN, huge numbers, deep nesting and trailing data are refused."""

from __future__ import annotations

import re
from typing import Any

from cli import messages
from cli.reading.place import MAX_DEPTH, MAX_INTEGER, MIN_INTEGER, Malformed, Placed, step

BLANK = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
CHUNK = re.compile(r'[^"\\\x00-\x1f]*')
WORD = re.compile(r"-?[A-Za-z0-9_.+-]+")
HEX = re.compile(r"[0-9a-fA-F]{4}")
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
WORDS = {"true": True, "false": False, "null": None}
CONSTANTS = ("NaN", "Infinity", "-Infinity")
MAX_INTEGER_DIGITS = 19


def read_json(text: str) -> Placed:
    """The one value of a text. Raises Malformed."""
    scanner = _Scanner(text)
    start = scanner.blanks(0)
    value, end = scanner.value(start, "", 0)
    end = scanner.blanks(end)
    if end != len(text):
        raise Malformed(messages.TRAILING, end)
    return Placed(value, scanner.offsets, start)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets: dict[str, int] = {}

    def blanks(self, at: int) -> int:
        found = BLANK.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, path: str, depth: int) -> tuple[Any, int]:
        match self.text[at : at + 1]:
            case "{":
                return self.mapping(at, path, self.deeper(at, depth))
            case "[":
                return self.sequence(at, path, self.deeper(at, depth))
            case '"':
                return self.string(at, path)
            case _:
                return self.plain(at, path)

    def deeper(self, at: int, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise Malformed(messages.TOO_DEEP.format(limit=MAX_DEPTH), at)
        return depth + 1

    def mapping(self, at: int, path: str, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.blanks(at + 1)
        if self.text[at : at + 1] == "}":
            return found, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                raise self.strange(at, "a key in quotes", path)
            here = at
            key, at = self.string(at, path)
            below = step(path, key)
            if key in found:
                raise Malformed(messages.DUPLICATE_KEY.format(key=key), here, below)
            self.offsets[below] = here
            at = self.blanks(at)
            if self.text[at : at + 1] != ":":
                raise self.strange(at, '":"', below)
            found[key], at = self.value(self.blanks(at + 1), below, depth)
            at = self.blanks(at)
            match self.text[at : at + 1]:
                case ",":
                    at = self.blanks(at + 1)
                case "}":
                    return found, at + 1
                case _:
                    raise self.strange(at, '"," or "}"', path)

    def sequence(self, at: int, path: str, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.blanks(at + 1)
        if self.text[at : at + 1] == "]":
            return found, at + 1
        while True:
            below = step(path, len(found))
            self.offsets[below] = at
            item, at = self.value(at, below, depth)
            found.append(item)
            at = self.blanks(at)
            match self.text[at : at + 1]:
                case ",":
                    at = self.blanks(at + 1)
                case "]":
                    return found, at + 1
                case _:
                    raise self.strange(at, '"," or "]"', path)

    def string(self, at: int, path: str) -> tuple[str, int]:
        start, parts = at, []
        at += 1
        while True:
            chunk = CHUNK.match(self.text, at)
            if chunk:
                parts.append(chunk[0])
                at = chunk.end()
            match self.text[at : at + 1]:
                case '"':
                    break
                case "\\":
                    part, at = self.escape(at, path)
                    parts.append(part)
                case "":
                    raise Malformed(messages.END_OF_JSON, at)
                case other:
                    raise Malformed(messages.RAW_CONTROL.format(code=ord(other)), at, path)
        text = "".join(parts)
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise Malformed(messages.NOT_UNICODE, start, path)
        return text, at + 1

    def escape(self, at: int, path: str) -> tuple[str, int]:
        """Two escapes that form a surrogate pair are one character."""
        letter = self.text[at + 1 : at + 2]
        if letter in ESCAPES:
            return ESCAPES[letter], at + 2
        if not letter:
            raise Malformed(messages.END_OF_JSON, at + 1)
        digits = HEX.match(self.text, at + 2) if letter == "u" else None
        if digits is None:
            raise Malformed(messages.BAD_ESCAPE, at, path)
        code, at = int(digits[0], 16), digits.end()
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", at):
            low = HEX.match(self.text, at + 2)
            if low is not None and 0xDC00 <= int(low[0], 16) < 0xE000:
                return chr(0x10000 + (code - 0xD800) * 0x400 + int(low[0], 16) - 0xDC00), low.end()
        return chr(code), at

    def plain(self, at: int, path: str) -> tuple[Any, int]:
        word = WORD.match(self.text, at)
        if word is None:
            raise self.strange(at, "a value", path)
        if word[0] in WORDS:
            return WORDS[word[0]], word.end()
        if word[0] in CONSTANTS:
            raise Malformed(messages.CONSTANT.format(name=word[0]), at, path)
        number = NUMBER.fullmatch(word[0])
        if number is not None:
            return _number(number, at, path), word.end()
        if word[0][0] in "-0123456789":
            raise Malformed(messages.NOT_NUMBER.format(text=word[0][:40]), at, path)
        raise self.strange(at, "a value", path)

    def strange(self, at: int, expected: str, path: str) -> Malformed:
        if at >= len(self.text):
            return Malformed(messages.END_OF_JSON, at)
        return Malformed(messages.UNEXPECTED.format(expected=expected, found=self.text[at]), at, path)


def _number(found: re.Match[str], at: int, path: str) -> int | float:
    whole, fraction, exponent = found.groups()
    if fraction is None and exponent is None:
        return checked_integer(whole, 10, at, path)
    return checked_float(found[0], at, path)


def checked_integer(text: str, base: int, at: int, path: str) -> int:
    """An integer that a 64-bit column holds. Raises Malformed before a text of many digits costs anything."""
    if len(text.lstrip("+-0")) <= (MAX_INTEGER_DIGITS if base == 10 else 64):
        value = int(text, base)
        if MIN_INTEGER <= value <= MAX_INTEGER:
            return value
    raise Malformed(messages.BIG_INTEGER, at, path)


def checked_float(text: str, at: int, path: str) -> float:
    """A finite number; one too small to be told from zero is out of range too."""
    value = float(text)
    mantissa = re.split("[eE]", text)[0]
    if value in (float("inf"), float("-inf")) or (value == 0 and mantissa.strip("+-0.")):
        raise Malformed(messages.BIG_NUMBER, at, path)
    return value
