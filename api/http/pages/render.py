"""HTML out of values: templates that escape everything, and the headers that every page has."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

FOLDER = Path(__file__).parent
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STATIC = {"style.css": "text/css", "live.js": "text/javascript", "icon.svg": "image/svg+xml"}


def page(name: str, status: int = 200, **values: Any) -> Response:
    text = _templates().get_template(f"{name}.html").render(**values)
    return Response(text, status, media_type="text/html; charset=utf-8", headers=HEADERS)


def static(name: str) -> Response | None:
    """A file of the pages; None for a name that there is not."""
    media = STATIC.get(name)
    return None if media is None else Response(_content(name), media_type=media, headers=HEADERS)


@functools.cache
def _content(name: str) -> bytes:
    return (FOLDER / "static" / name).read_bytes()


@functools.cache
def _templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["pretty"] = pretty
    return found


def visible(value: Any) -> Any:
    """A text in which nothing turns its neighbours around or hides: such characters are spelled out."""
    if not isinstance(value, str) or value.isprintable():
        return value
    spelled = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in value)
    return type(value)(spelled) if spelled != value else value


def pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
