"""`rmctl wait`: returns when a condition holds of the present spec."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.durations import seconds
from cli.goals import READY, parse_goal
from cli.output import emit, label, listed
from cli.session import Session
from cli.targets import named
from cli.terminal import out
from cli.waiting import DEFAULT_TIMEOUT, await_goal, await_ready


def wait(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="KIND NAME...", help="KIND NAME... or KIND/NAME...")],
    goal: Annotated[
        str, typer.Option("--for", help="Ready, delete, condition=TYPE[=STATUS], jsonpath=EXPRESSION[=VALUE]")
    ] = "Ready",
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="such as 90s; 10m unless given")] = DEFAULT_TIMEOUT,
) -> int:
    """Return 0 when it holds, 7 when the time is up, 8 at once when it will not go on by itself."""
    session: Session = context.obj
    limit = seconds(timeout)
    form = session.output("json", "yaml", "name", "jsonpath")
    targets = named(what, session.kind)
    wanted = parse_goal(goal)
    found = await_ready(session, targets, limit) if wanted == READY else await_goal(session, targets, wanted, limit)
    if form:
        emit(found[0] if len(targets) == 1 and found else listed(found), form)
        return 0
    for document in found:
        out(f"{label(document)} {wanted}")
    if not found:
        for target in targets:
            out(f"{target} deleted")
    return 0
