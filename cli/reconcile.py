"""`rmctl reconcile`: a pass over a resource now, whatever it waits for."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import paths
from cli.output import emit, listed
from cli.session import Session
from cli.targets import named
from cli.terminal import out, say


def reconcile(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="KIND NAME...", help="KIND NAME... or KIND/NAME...")],
) -> int:
    """Wake resources. It is never needed to make something happen: it only shortens a wait."""
    session: Session = context.obj
    form = session.output("json", "yaml", "name")
    targets = named(what, session.kind)
    found = [
        session.client.send("POST", f"{paths.item(target, target.project or session.project)}/reconcile", {})
        for target in targets
    ]
    if form in ("json", "yaml"):
        emit(found[0] if len(found) == 1 else listed(found), form)
        return 0
    for target in targets:
        out(str(target) if form == "name" else f"{target} woken")
    if not form:
        say(f"Next: rmctl get {targets[0]} -w")
    return 0
