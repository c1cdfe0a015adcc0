"""`rmctl audit capacity`: the ledger of room, added up again and held against what runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.errors import UsageProblem
from cli.output import emit
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe


def audit(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="capacity")],
) -> int:
    """Add the ledger up again and hold it against what the nodes say that they run."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    if what != "capacity":
        raise UsageProblem(f'"{safe(what)}": capacity is what can be audited')
    answer = session.client.get(paths.AUDIT)
    if form:
        emit(answer, form)
        return 0
    findings = answer.get("findings") or []
    if not findings:
        out("all of it agrees")
        return 0
    out_lines(lines([("KIND", "NODE", "WHAT"), *map(finding_cells, findings)]))
    return 0


def finding_cells(finding: dict[str, Any]) -> tuple[str, ...]:
    """Kind, node and what it is: a line of the capacity audit."""
    return (str(finding.get("kind", "")), str(finding.get("node") or "-"), str(finding.get("message", "")))
