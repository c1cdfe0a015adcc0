"""`rmctl doctor`: whether the database and this machine are well; each line says what it looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cli import paths
from cli.diagnoses import Finding, database, machine, server_clock
from cli.errors import ENVIRONMENT, Unreachable
from cli.output import emit
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe, say


def doctor(
    context: typer.Context,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="FILE", help="write what is known, redacted, as a .tar.gz")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="a data folder whose server does not run")] = None,
) -> int:
    """Check. 0 when all is well or only warned about, 5 when something must be mended."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    try:
        facts: dict[str, Any] | None = session.client.get(f"{paths.ROOT}/diagnosis") if data is None else None
        away = ""
    except Unreachable as error:
        facts, away = None, error.message
    sections = {"database": _database(session, facts, data, away), "machine": machine(session, facts, data)}
    if bundle is not None:
        from cli.debug_bundle import write

        write(session, bundle, facts, sections)
    if form:
        emit({"facts": facts, **{name: [one._asdict() for one in found] for name, found in sections.items()}}, form)
    else:
        for name, found in sections.items():
            out(name)
            out_lines(f"  {line}" for line in lines([(one.state, one.what, one.told) for one in found]))
    if bundle is not None:
        say(f"{safe(str(bundle))} written; values of env, parameters and arguments are not in it, secrets never")
    failed = any(one.state == "FAIL" for found in sections.values() for one in found)
    return ENVIRONMENT if failed else 0


def _database(session: Session, facts: dict[str, Any] | None, data: Path | None, away: str) -> list[Finding]:
    if facts is not None:
        return [*database(facts), server_clock(facts, session.now())]
    from cli.diagnoses import idle_folder

    return idle_folder(session, data, away)
