"""Query parameters, read strictly into values."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from api.http.envelope import printable
from api.http.problems import Problem, bad_request
from resources.selector_text import parse, parse_fields
from resources.selectors import Selector, SelectorError

Validation = Literal["Strict", "Warn", "Ignore"]
MAX_LIMIT = 10_000
MAX_MANAGER = 128
FIELDS = ("metadata.name", "metadata.namespace", "metadata.key")
Query = Mapping[str, str]


@dataclass(frozen=True)
class How:
    """How a write was asked for."""

    manager: str
    force: bool = False
    dry_run: bool = False
    validation: Validation = "Strict"


@dataclass(frozen=True)
class Listing:
    """What of a kind is asked for. `after` is the (project, name) that the page follows; `limit` 0 is no limit."""

    labels: Selector
    fields: Selector
    limit: int = 0
    after: tuple[str, str] | None = None
    revision: int | None = None
    """of the first page, on the pages after it"""
    text: str = ""
    """what was asked, so that a token of another list is known"""


def how(query: Query, user_agent: str) -> How:
    """Raises a 400 problem."""
    dry = query.get("dryRun", "")
    if dry not in ("", "All"):
        raise bad_request(f'dryRun: "{printable(dry)}" is not one of All')
    validation = query.get("fieldValidation") or "Strict"
    if validation not in ("Strict", "Warn", "Ignore"):
        raise bad_request(f'fieldValidation: "{printable(validation)}" is not one of Strict, Warn, Ignore')
    manager = query.get("fieldManager") or user_agent.partition("/")[0] or "unknown"
    return How(manager_named(manager), flag(query, "force"), dry == "All", cast("Validation", validation))


def manager_named(name: object) -> str:
    """A field manager's name, checked."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MAX_MANAGER:
        raise bad_request(f"fieldManager: expected 1 to {MAX_MANAGER} printable characters")
    return name


def listing(query: Query, where: str) -> Listing:
    """`where` tells one list from another. Raises a 400 problem."""
    try:
        labels = parse(query.get("labelSelector", ""))
        fields = parse_fields(query.get("fieldSelector", ""), FIELDS)
    except SelectorError as error:
        raise bad_request(str(error)) from None
    limit = number(query, "limit") or 0
    if limit > MAX_LIMIT:
        raise bad_request(f"limit: at most {MAX_LIMIT}")
    text = json.dumps([where, query.get("labelSelector", ""), query.get("fieldSelector", "")])
    after, revision = _continued(query.get("continue", ""), text)
    return Listing(labels, fields, limit, after, revision, text)


def token_after(listing: Listing, project: str, name: str, revision: int) -> str:
    """A continue token for what follows (project, name) in this list."""
    raw = json.dumps({"after": [project, name], "rv": revision, "of": listing.text})
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _continued(token: str, text: str) -> tuple[tuple[str, str] | None, int | None]:
    if not token:
        return None, None
    try:
        known = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        project, name = known["after"]
        if (
            known["of"] == text
            and all(isinstance(part, str) for part in (project, name))
            and isinstance(known["rv"], int)
        ):
            return (project, name), known["rv"]
    except (binascii.Error, ValueError, KeyError, TypeError):
        pass
    raise bad_request("continue token is not valid here")


def revision(query: Query) -> int | None:
    """`resourceVersion`; absent or empty is None. Raises a 400 problem."""
    return number(query, "resourceVersion")


def number(query: Query, name: str) -> int | None:
    """Digits; absent or empty is None. Raises a 400 problem."""
    text = query.get(name, "")
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise bad_request(f'{name}: expected a whole number, got "{printable(text)}"')


def flag(query: Query, name: str) -> bool:
    """Raises a 400 problem."""
    match query.get(name, "").lower():
        case "1" | "true":
            return True
        case "" | "0" | "false":
            return False
        case text:
            raise bad_request(f'{name}: expected true or false, got "{printable(text)}"')


def unsupported_media(found: str, known: tuple[str, ...]) -> Problem:
    return Problem(415, "UnsupportedMediaType", f'content type "{printable(found)}" is not one of {", ".join(known)}')
