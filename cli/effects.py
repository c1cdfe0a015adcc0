"""`rmctl effects`: every touch of the world on record, and `resolve` for one that nobody can tell about."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.errors import ServerRefused, UsageProblem
from cli.output import emit_json
from cli.records import show_records
from cli.running import SETTINGS
from cli.session import Session
from cli.terminal import out, safe, say
from cli.views.wire import named_as

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)


@app.callback(invoke_without_command=True)
def effects(context: typer.Context) -> int:
    """List effects, newest first: the same as `rmctl get effects`."""
    if context.invoked_subcommand is not None:
        return 0
    session: Session = context.obj
    return show_records(session, ["effects"], session.output("wide", "json", "yaml", "jsonpath"))


@app.command("resolve", help="Say what became of an effect whose outcome nobody knows.")
def resolve(
    context: typer.Context,
    effect: Annotated[str, typer.Argument(metavar="ID", help="UID:KEY, or KEY where only one open effect has it")],
    reason: Annotated[str, typer.Option("--reason", help="why you know; it is kept in the audit")] = "",
    adopt: Annotated[str, typer.Option("--adopt", metavar="REF", help="it happened; REF is the provider's id")] = "",
    absent: Annotated[bool, typer.Option("--absent", help="it never happened; it is tried again")] = False,
) -> int:
    session: Session = context.obj
    form = session.output("json")
    if not reason:
        raise UsageProblem("--reason: required")
    if bool(adopt) == absent:
        raise UsageProblem("either --adopt REF or --absent")
    body: dict[str, Any] = {"id": _identity(session, effect), "reason": reason}
    body |= {"absent": True} if absent else {"adopt": adopt}
    answer = session.client.send("POST", paths.RESOLVE, body)
    if form:
        emit_json(answer)
        return 0
    out(safe(f"effect {answer.get('id')} is {answer.get('state')}"))
    owner = answer.get("owner") or {}
    say(f"Next: rmctl describe {safe(named_as(owner))}")
    return 0


def _identity(session: Session, text: str) -> str:
    """A key is looked up among the open effects; what is none and has a colon is UID:KEY as it stands."""
    found = [
        str(one["id"])
        for one in session.client.get(paths.EFFECTS).get("items", [])
        if one.get("key") == text and one.get("state") in ("pending", "indeterminate")
    ]
    if len(found) == 1:
        return found[0]
    if not found and ":" in text:
        return text
    if not found:
        message = f'no open effect has the key "{safe(text)}"'
        raise ServerRefused(404, "NotFound", message, hint="rmctl get effects -o json")
    raise UsageProblem(f'{len(found)} open effects have the key "{safe(text)}"; which: {", ".join(found)}')
