"""Aliases of `get` for what is listed often."""

from __future__ import annotations

import typer

from cli.records import show_records
from cli.session import Session


def queue(context: typer.Context) -> int:
    """List the keys that wait for a pass, by due time: the same as `rmctl get queue`."""
    session: Session = context.obj
    return show_records(session, ["queue"], session.output("wide", "json", "yaml", "jsonpath"))
