"""`rmctl audit`: the ledger of room held against what runs, or everything on record read back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.errors import FAILED, UsageProblem
from cli.output import emit
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe

CAPACITY, VERIFY = "capacity", "verify"


def audit(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="capacity|verify")],
) -> int:
    """Hold what is written down against itself and against the world; nothing is changed.

    capacity adds the ledger of room up again and holds it against what the nodes say that they run. verify reads back
    all that is on record: the database's structure, every resource's checksum, the log of changes; 1 when any is wrong.
    """
    session: Session = context.obj
    form = session.output("json", "yaml")
    if what not in (CAPACITY, VERIFY):
        raise UsageProblem(f'"{safe(what)}": one of {CAPACITY}, {VERIFY}')
    answer = session.client.get(paths.AUDIT if what == CAPACITY else paths.RECORDS)
    findings = answer.get("findings") or []
    code = FAILED if findings and what == VERIFY else 0
    if form:
        emit(answer, form)
    elif findings:
        place = "NODE" if what == CAPACITY else "WHERE"
        out_lines(lines([("KIND", place, "WHAT"), *map(finding_cells, findings)]))
    else:
        out("all of it agrees" if what == CAPACITY else _whole(answer.get("read") or {}))
    return code


def _whole(read: dict[str, Any]) -> str:
    return f"all of it is as it was written: {read.get('resources')} resources, {read.get('changes')} changes"


def finding_cells(finding: dict[str, Any]) -> tuple[str, ...]:
    """Kind, place and what it is: a line of an audit."""
    where = finding.get("node") or finding.get("where") or "-"
    return (str(finding.get("kind", "")), str(where), str(finding.get("message", "")))
