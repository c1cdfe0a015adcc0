"""`rmctl metrics`: what a Prometheus would read, as it stands."""

from __future__ import annotations

import typer

from cli import paths
from cli.session import Session
from cli.terminal import out, safe_lines


def metrics(context: typer.Context) -> int:
    """Print /metrics."""
    session: Session = context.obj
    session.output()
    out(safe_lines(session.client.text(paths.METRICS)).rstrip("\n"))
    return 0
