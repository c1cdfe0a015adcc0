"""`rmctl dev`: for those who want to see how it works."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.errors import FOUND_DIFFERENCES, UsageProblem
from cli.forge import forge
from cli.output import emit_json, emit_yaml
from cli.running import SETTINGS
from cli.session import Session
from cli.targets import named
from cli.terminal import out, safe, say

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, context_settings=SETTINGS)
app.callback()(lambda: None)
app.command("forge")(forge)

DECISIONS = ("PlacementDecision", "PlacementFailed")


@app.command("replay", help="Make a decision of the placer again, from the log: 1 when it comes out differently.")
def replay(
    context: typer.Context,
    decision: Annotated[
        str, typer.Argument(metavar="DECISION", help="the id of its event, or job/NAME for its newest")
    ],
) -> int:
    session: Session = context.obj
    form = session.output("json", "yaml")
    event = decision if decision.isascii() and decision.isdecimal() else _newest(session, decision)
    found = session.client.get(f"{paths.ROOT}/decisions/{event}")
    if form:
        (emit_json if form == "json" else emit_yaml)(found)
    elif found.get("equal") is None:
        out(safe(f"decision {event} cannot be made again: {found.get('reason')}"))
    else:
        told = found.get("decided") or {}
        out(safe(f"decision {event}: {'equal' if found['equal'] else 'not equal'}"))
        out(safe(f"  decided   {told.get('sentence', '')}"))
        out(safe(f"  replayed  {(found.get('replayed') or {}).get('sentence', '')}"))
        if not found["equal"]:
            say(f"Next: rmctl dev replay {event} -o json")
    return 0 if found.get("equal") else FOUND_DIFFERENCES


def _newest(session: Session, word: str) -> str:
    """Of a job. Raises UsageProblem where it has none."""
    (target,) = named([word], session.kind)
    query = {"for": f"job/{target.name}", "project": target.project or session.project}
    listed: list[dict[str, Any]] = session.client.get(paths.EVENTS, query).get("items", [])
    found = next((one for one in listed if one.get("type") in DECISIONS), None)
    if found is None:
        raise UsageProblem(f"{target} has no decision of the placer on record")
    return str(found["id"])
