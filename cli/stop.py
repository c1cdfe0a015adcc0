"""`rmctl stop`: a job is not placed again; with --now, what runs is ended too."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.patching import patch, told
from cli.session import Session
from cli.targets import jobs
from cli.terminal import say
from cli.views.wire import status
from resources.instants import rfc3339


def stop(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="BUNDLE/ROLE/JOB...", help="one copy each")],
    now: Annotated[bool, typer.Option("--now", help="end what runs; else it runs on until it ends by itself")] = False,
) -> int:
    """Hold jobs: they are not placed again until `rmctl start`."""
    session: Session = context.obj
    form = session.output("json", "yaml", "name")
    spec: dict[str, Any] = {"active": False}
    if now:
        spec["restartedAt"] = rfc3339(session.now())
    wanted = jobs(names)
    found = [patch(session, target, spec) for target in wanted]
    living = [target for target, job in zip(wanted, found, strict=True) if status(job).get("node")]
    code = told(form, wanted, found, "is held")
    if not form:
        for target in () if now else living:
            say(f"{target} runs on until it ends; --now ends it")
        say(f"Next: rmctl start {str(wanted[0]).partition('/')[2]}")
    return code
