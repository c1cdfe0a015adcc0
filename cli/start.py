"""`rmctl start`: a dormant job may be placed."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.patching import patch_all
from cli.targets import jobs


def start(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="BUNDLE/ROLE/JOB...", help="one copy each")],
) -> int:
    """Let jobs run: those of startMode manual, and those that were stopped."""
    return patch_all(context.obj, jobs(names), {"active": True}, "may run", "rmctl get {target} -w")
