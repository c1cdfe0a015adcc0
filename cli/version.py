"""`rmctl version`: of this client, and of the server it speaks to."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import paths
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.terminal import out, safe
from resources.version import VERSION


def version(
    context: typer.Context,
    client: Annotated[bool, typer.Option("--client", help="do not ask the server")] = False,
) -> int:
    """Print both versions; 4 when no server answers."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    if not form:
        out(f"rmctl   {VERSION}")
    found = {"client": VERSION}
    if not client:
        answer = session.client.get(paths.VERSION)
        found["server"] = _ours(str(answer.get("version") or answer.get("gitVersion") or ""))
        if not form:
            out(safe(f"server  {found['server']}  {session.address}"))
    if form:
        (emit_json if form == "json" else emit_yaml)(found)
    return 0


def _ours(text: str) -> str:
    """Kubernetes clients are told a version of its API first: `v1.32.0+rmctl.0.1.0`."""
    return text.rpartition("+rmctl.")[2].removeprefix("v")
