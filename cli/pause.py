"""`rmctl pause` and `rmctl resume`: nothing is decided for a resource; `server` holds every effect instead."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.audit import finding_cells
from cli.errors import UsageProblem
from cli.output import emit
from cli.patching import change, told
from cli.session import Session
from cli.tables import lines
from cli.targets import named
from cli.terminal import out, out_lines, say

ANNOTATION = "rmctl/paused"
SERVER = "server"
What = Annotated[
    list[str], typer.Argument(metavar="KIND NAME...|server", help="KIND NAME..., KIND/NAME..., or server: all effects")
]


def pause(
    context: typer.Context,
    what: What,
    reason: Annotated[str, typer.Option("--reason", help="shown wherever it matters")] = "",
) -> int:
    """Decide nothing for a resource: what runs runs on, what ends is not started again. A deletion goes on.

    A bundle's jobs are paused with it, and with a pool all that stands in it. `pause server` begins no effect at all.
    """
    session: Session = context.obj
    if what == [SERVER]:
        if not reason:
            raise UsageProblem("pause server needs --reason: it is kept in the audit")
        return _server(session, paths.HOLD, {"reason": reason}, "holds all effects", "rmctl resume server")
    return _annotated(session, what, reason, "paused", "rmctl resume {target}")


def resume(context: typer.Context, what: What) -> int:
    """Let a paused resource, or the server, go on from what is so now."""
    session: Session = context.obj
    if what == [SERVER]:
        return _server(session, paths.RESUME, {}, "begins effects again", "")
    return _annotated(session, what, None, "resumed", "rmctl get {target} -w")


def _annotated(session: Session, what: list[str], reason: str | None, done: str, advice: str) -> int:
    form = session.output("json", "yaml", "name")
    targets = named(what, session.kind)
    body = {"metadata": {"annotations": {ANNOTATION: reason}}}
    return told(form, targets, [change(session, target, body) for target in targets], done, advice)


def _server(session: Session, path: str, body: dict[str, Any], done: str, advice: str) -> int:
    form = session.output("json", "yaml")
    answer = session.client.send("POST", path, body)
    if form:
        emit(answer, form)
        return 0
    out(f"server {done}")
    findings = answer.get("findings") or ()
    if answer.get("repaired"):
        say(f"the ledger's sums were put right in {answer['repaired']} places")
    out_lines(f"  {line}" for line in lines([finding_cells(one) for one in findings]))
    if advice:
        say(f"Next: {advice}")
    return 0
