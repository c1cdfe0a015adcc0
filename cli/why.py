"""`rmctl why`: the cause, the evidence, what happens next, and the cure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli import paths
from cli.fetching import one, world
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.tables import lines
from cli.targets import Target, named
from cli.terminal import out, out_lines, safe
from cli.views.registry import line_one


def why(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="KIND NAME", help="KIND NAME or KIND/NAME")],
) -> int:
    """Say why a resource is as it is. `would fit if` lists only what the placer has confirmed."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    for number, target in enumerate(named(what, session.kind)):
        answer = _asked(session, target)
        if form:
            (emit_json if form == "json" else emit_yaml)(answer)
            continue
        if number:
            out()
        _print(session, target, answer)
    return 0


def _asked(session: Session, target: Target) -> dict[str, Any]:
    return session.client.get(f"{paths.item(target, target.project or session.project)}/why")


def _print(session: Session, target: Target, answer: dict[str, Any]) -> None:
    out(safe(_sentence(session, target, str(answer.get("sentence") or ""))))
    for number, section in enumerate(answer.get("sections") or ()):
        if not number:
            out()
        out(safe(str(section.get("title", ""))))
        out_lines(f"  {line}" for line in _rows(section.get("rows") or ()))
    for number, step in enumerate(_steps(answer.get("next"))):
        out(safe(f"{'Next: ' if not number else '      '}{step}"))


def _sentence(session: Session, target: Target, sentence: str) -> str:
    """The placer's or the server's own; where it only repeats the Ready condition, the line that `describe` prints."""
    if not sentence or sentence.startswith(f"{target}: "):
        return line_one(one(session, target), world(session, {target.kind.name}))
    return sentence if sentence.startswith(f"{target.kind.name}/") else f"{target} {sentence}"


def _rows(rows: Sequence[Any]) -> list[str]:
    """Rows of cells become columns; a row that is one text stands as it is."""
    texts = [[str(cell) for cell in row] if isinstance(row, list) else [str(row)] for row in rows]
    width = max((len(row) for row in texts), default=0)
    return [line.rstrip(" ") for line in lines([row + [" "] * (width - len(row)) for row in texts])]


def _steps(found: object) -> list[str]:
    if isinstance(found, str):
        return [found]
    return [str(step) for step in found] if isinstance(found, list) else []
