"""JSONPath as kubectl writes it: text with `{…}` in it, `.a.b` without a `$`, `{range …}…{end}`, quoted text."""

from __future__ import annotations

import json
import re
from typing import Any

from cli import messages
from cli.errors import UsageProblem
from cli.terminal import safe

PIECE = re.compile(r"\{((?:[^{}\"']|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')*)\}|([^{]+)|(\{)", re.DOTALL)
NAME = re.compile(r"(?:[^.\[\]\\\s]|\\.)+")
PLAIN = re.compile(r"[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*")
ESCAPED_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}


def evaluate(expression: str, document: Any) -> str:
    """The text of an expression for a document; what is not there is empty. Raises UsageProblem."""
    template = expression if "{" in expression else "{" + expression + "}"
    pieces = [(found[1], found[2], found[3], found.start()) for found in PIECE.finditer(template)]
    text, rest = _rendered(pieces, 0, document, document, nested=False)
    if rest != len(pieces):
        raise _bad("{end} without {range}")
    return text


def values(path: str, document: Any) -> list[Any]:
    """Every value that a path finds. Raises UsageProblem."""
    from jsonpath_rfc9535 import JSONPathError, find

    query = _standard(path)
    try:
        return find(query, document).values()
    except JSONPathError as error:
        raise _bad(f"{path}: {' '.join(str(error).split())}") from None


def shown(value: Any) -> str:
    """A value as text: texts bare, everything else as JSON."""
    return safe(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=True)


Pieces = list[tuple[str | None, str | None, str | None, int]]


def _rendered(pieces: Pieces, at: int, root: Any, current: Any, *, nested: bool) -> tuple[str, int]:
    text = ""
    while at < len(pieces):
        inside, literal, stray, _ = pieces[at]
        if stray is not None:
            raise _bad("a { that is not closed")
        if literal is not None:
            text += literal
        elif inside is not None and inside.strip() == "end":
            if nested:
                return text, at
            return text, at
        elif inside is not None and inside.strip().startswith("range "):
            part, at = _ranged(pieces, at, root, current)
            text += part
        elif inside is not None:
            text += _expression(inside.strip(), root, current)
        at += 1
    if nested:
        raise _bad("{range} without {end}")
    return text, at


def _ranged(pieces: Pieces, at: int, root: Any, current: Any) -> tuple[str, int]:
    path = (pieces[at][0] or "").strip().removeprefix("range").strip()
    text, end = "", at
    for item in values(path, _start(path, root, current)):
        part, end = _rendered(pieces, at + 1, root, item, nested=True)
        text += part
    if end == at:
        _, end = _rendered(pieces, at + 1, root, None, nested=True)
    return text, end


def _expression(text: str, root: Any, current: Any) -> str:
    if text[:1] in ('"', "'"):
        return re.sub(r"\\(.)", lambda found: ESCAPED_LETTERS.get(found[1], found[1]), text[1:-1])
    start = _start(text, root, current)
    return "" if start is None else " ".join(shown(value) for value in values(text, start))


def _start(path: str, root: Any, current: Any) -> Any:
    return root if path.startswith("$") else current


def _standard(path: str) -> str:
    r"""`.metadata.labels.a\.b/c` as `$.metadata.labels['a.b/c']`; brackets are left as they are."""
    query, at = "$", 1 if path[:1] in ("$", "@") else 0
    if path[at : at + 1] not in (".", "[", ""):
        path = path[:at] + "." + path[at:]
    while at < len(path):
        if path[at] == "[":
            end = _closing(path, at)
            query, at = query + path[at:end], end
            continue
        dots = ".." if path.startswith("..", at) else "."
        if not path.startswith(".", at):
            raise _bad(f'"{path}": expected . or [ at column {at + 1}')
        at += len(dots)
        if at == len(path) and dots == ".":
            break
        if path[at : at + 1] == "[" and dots == "..":
            query += dots
            continue
        found = NAME.match(path, at)
        if found is None:
            raise _bad(f'"{path}": expected a name at column {at + 1}')
        name, at = re.sub(r"\\(.)", r"\1", found[0]), found.end()
        if name == "*" or PLAIN.fullmatch(name):
            query += dots + name
        else:
            quoted = name.replace("\\", "\\\\").replace("'", "\\'")
            query += f"{dots if dots == '..' else ''}['{quoted}']"
    return query


def _closing(path: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`."""
    depth, quote, here = 0, "", at
    while here < len(path):
        letter = path[here]
        if quote:
            here += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter == "[") - (letter == "]")
            if depth == 0:
                return here + 1
        here += 1
    raise _bad(f'"{path}": a [ that is not closed')


def _bad(problem: str) -> UsageProblem:
    return UsageProblem(messages.JSONPATH.format(problem=problem))
