"""`rmctl restart`: a bundle or one job starts afresh, and what was counted against it is forgotten."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.durations import seconds
from cli.errors import UsageProblem
from cli.output import emit, listed
from cli.patching import patch
from cli.session import Session
from cli.targets import named
from cli.terminal import out, say
from cli.waiting import DEFAULT_TIMEOUT, await_ready
from resources.instants import rfc3339

KINDS = ("bundle", "job")


def restart(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="KIND NAME...", help="bundle/NAME or job/BUNDLE/ROLE/JOB")],
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="return when it is ready again")] = True,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="10m unless given")] = DEFAULT_TIMEOUT,
) -> int:
    """Start bundles or jobs afresh. It is not counted as a failure; a broken bundle is mended by it."""
    session: Session = context.obj
    limit = seconds(timeout)
    form = session.output("json", "yaml", "name")
    targets = named(what, session.kind)
    for target in targets:
        if target.kind.name not in KINDS:
            raise UsageProblem(f"{target}: only a bundle or a job is restarted")
    at = rfc3339(session.now())
    found = [patch(session, target, {"restartedAt": at}) for target in targets]
    if wait:
        found = await_ready(session, targets, limit)
    if form:
        emit(found[0] if len(found) == 1 else listed(found), form)
        return 0
    for target in targets:
        out(f"{target} {'restarted' if wait else 'is being restarted'}")
    if not wait:
        say(f"Next: rmctl get {targets[0]} -w")
    return 0
