"""`rmctl stop`: a job is not placed again; with --now, what runs is ended too."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.patching import patch_all
from cli.session import Session
from cli.targets import jobs
from resources.instants import rfc3339


def stop(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="BUNDLE/ROLE/JOB...", help="one copy each")],
    now: Annotated[bool, typer.Option("--now", help="end what runs; else it runs on until it ends by itself")] = False,
) -> int:
    """Hold jobs: they are not placed again until `rmctl start`."""
    session: Session = context.obj
    spec: dict[str, Any] = {"active": False}
    if now:
        spec["restartedAt"] = rfc3339(session.now())
    return patch_all(session, jobs(names), spec, "is held", "rmctl start {name}")
