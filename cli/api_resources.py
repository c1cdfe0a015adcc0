"""`rmctl api-resources`: the kinds that the server serves, and their names."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.output import emit, listed
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe

HEADER = ("NAME", "SHORT", "KIND", "IN A PROJECT", "VERBS")


def api_resources(context: typer.Context, no_headers: Annotated[bool, typer.Option("--no-headers")] = False) -> int:
    """List the kinds."""
    session: Session = context.obj
    form = session.output("json", "yaml", "name")
    found = [
        entry
        for entry in session.client.get("/apis/rmctl/v1").get("resources", [])
        if "/" not in str(entry.get("name", "/"))
    ]
    if form in ("json", "yaml"):
        emit(listed(found), form)
        return 0
    if form == "name":
        for entry in found:
            out(safe(str(entry["name"])))
        return 0
    rows = [
        (
            str(entry["name"]),
            ",".join(map(str, entry.get("shortNames") or ())) or "-",
            str(entry.get("kind")),
            "yes" if entry.get("namespaced") else "no",
            ",".join(map(str, entry.get("verbs") or ())),
        )
        for entry in found
    ]
    out_lines(lines(rows if no_headers else [HEADER, *rows]))
    return 0
