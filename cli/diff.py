"""`rmctl diff`: what an apply would change, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli.apply import FILES_HELP, left_alone, send
from cli.editable import as_yaml, editable
from cli.errors import FOUND_DIFFERENCES, ServerRefused
from cli.fetching import one
from cli.manifests import load
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.targets import Target
from cli.terminal import out, safe, say, tint
from cli.views.wire import Document, title

NOT_FOUND = 404
CONTEXT_LINES = 3
COLOURS = {"+": "32", "-": "31", "@": "36"}


def diff(
    context: typer.Context,
    files: Annotated[list[str], typer.Option("-f", "--filename", help=FILES_HELP)],
    recursive: Annotated[bool, typer.Option("-R", "--recursive", help="directories below directories too")] = False,
    force_conflicts: Annotated[bool, typer.Option(help="as if fields that others set were taken over")] = False,
) -> int:
    """Print what apply would change. 0 when nothing, 1 when something would."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    items = send(session, load(files, recursive=recursive), dry_run=True, force=force_conflicts)
    pairs = [(_live(session, item), item) for item in items]
    if form:
        (emit_json if form == "json" else emit_yaml)({"items": [_told(before, item) for before, item in pairs]})
    else:
        for before, item in pairs:
            _print(before, item)
    return FOUND_DIFFERENCES if any(_lines(before, item) for before, item in pairs) else 0


def _live(session: Session, item: dict[str, Any]) -> Document | None:
    target = Target(session.kind(str(item["kind"])), str(item["name"]), str(item.get("project") or ""))
    try:
        return one(session, target)
    except ServerRefused as error:
        if error.code != NOT_FOUND:
            raise
        return None


def _told(before: Document | None, item: dict[str, Any]) -> dict[str, Any]:
    kept = ("kind", "name", "project", "outcome", "restarts", "kept")
    return {
        **{key: item[key] for key in kept if key in item},
        "diff": "".join(line + "\n" for line in _lines(before, item)),
    }


def _print(before: Document | None, item: dict[str, Any]) -> None:
    for line in _lines(before, item):
        out(tint(safe(line), COLOURS[line[0]]) if line[:1] in COLOURS else safe(line))
    for text in left_alone(item):
        say(text)
    if item.get("restarts"):
        say(f"restarts: {', '.join(map(str, item['restarts']))}")


def _lines(before: Document | None, item: dict[str, Any]) -> Sequence[str]:
    """A unified diff; empty when the two are the same."""
    after = item["object"]
    old = as_yaml(editable(before)).splitlines() if before is not None else []
    new = as_yaml(_in_order(editable(after), editable(before or {}))).splitlines()
    name = title(after)
    return list(difflib.unified_diff(old, new, f"{name} (live)", f"{name} (applied)", lineterm="", n=CONTEXT_LINES))


def _in_order(value: Any, like: Any) -> Any:
    """The same value with its keys in the order of another one: an order is no difference."""
    if isinstance(value, dict) and isinstance(like, dict):
        keys = [*(key for key in like if key in value), *(key for key in value if key not in like)]
        return {key: _in_order(value[key], like.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(like, list):
        return [_in_order(one, like[index] if index < len(like) else None) for index, one in enumerate(value)]
    return value
