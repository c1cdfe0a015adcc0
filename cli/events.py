"""`rmctl events`: what happened, to one resource or to all, newest first."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.happenings import event_lines, events_of, happening
from cli.output import emit, listed
from cli.session import Session
from cli.targets import Target, one
from cli.terminal import out_lines, say
from cli.views.wire import World

WIDTHS = (4, 7, 20)
"""Of a line that is printed before the next is known."""


def events(
    context: typer.Context,
    what: Annotated[list[str] | None, typer.Argument(metavar="[KIND NAME]", help="the same as --for")] = None,
    whose: Annotated[str, typer.Option("--for", metavar="KIND/NAME", help="of this resource only")] = "",
    watch: Annotated[bool, typer.Option("-w", "--watch", help="go on printing, until Ctrl-C")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="at most so many")] = 100,
) -> int:
    """Print events. With -w the newest comes last."""
    session: Session = context.obj
    form = session.output("json", "yaml", "jsonpath")
    words = [whose] if whose else what or []
    target = one(words, session.kind) if words else None
    if watch:
        return _follow(session, target, limit)
    found = events_of(session, target, limit)
    if form:
        emit(listed(found), form)
    elif found:
        out_lines(event_lines(found, World(session.now()), whose=target is None))
    else:
        say(f"no events{f' for {target}' if target else ''}")
    return 0


def _follow(session: Session, target: Target | None, limit: int) -> int:
    """Oldest first, then as they come; what counts up is printed again. A server that restarts is waited for."""
    for event in happening(session, target, limit):
        out_lines(event_lines([event], World(session.now()), whose=target is None, least=WIDTHS))
        sys.stdout.flush()
    return 0
