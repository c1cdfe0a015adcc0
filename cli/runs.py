"""`rmctl runs`: the child runs of resources, and what a person may do about one."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from cli import paths
from cli.errors import UsageProblem
from cli.output import emit_json
from cli.records import show_records
from cli.running import SETTINGS
from cli.session import Session
from cli.terminal import out, safe, say
from cli.views.wire import named_as

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)
Run = Annotated[str, typer.Argument(metavar="RUN", help="its id, or the start of it")]
Reason = Annotated[str, typer.Option("--reason", help="why; it is kept in the audit")]


@app.callback(invoke_without_command=True)
def runs(context: typer.Context) -> int:
    """List child runs, newest first: the same as `rmctl get runs`."""
    if context.invoked_subcommand is not None:
        return 0
    session: Session = context.obj
    return show_records(session, ["runs"], session.output("wide", "json", "yaml", "jsonpath"))


@app.command("resume", help="Let a run go on that waits for a person.")
def resume(
    context: typer.Context,
    run: Run,
    reason: Reason = "",
    value: Annotated[
        str | None, typer.Option("--value", metavar="JSON", help="the step it waits for happened, with this result")
    ] = None,
    absent: Annotated[bool, typer.Option("--absent", help="it never happened; it is done now")] = False,
) -> int:
    if absent and value is not None:
        raise UsageProblem("either --value JSON or --absent")
    body: dict[str, Any] = {"absent": True} if absent else {}
    if value is not None:
        try:
            body["value"] = json.loads(value, parse_constant=_no_json)
        except ValueError:
            raise UsageProblem(f"--value: expected JSON, such as '\"text\"' or 3, got {safe(value)}") from None
    return _control(context.obj, "resume", run, reason, body)


@app.command("cancel", help="End a run; it counts as failed.")
def cancel(context: typer.Context, run: Run, reason: Reason = "") -> int:
    return _control(context.obj, "cancel", run, reason, {})


@app.command("fork", help="Run it once more, behind the steps that are done.")
def fork(context: typer.Context, run: Run, reason: Reason = "") -> int:
    return _control(context.obj, "fork", run, reason, {})


def _control(session: Session, do: str, run: str, reason: str, more: dict[str, Any]) -> int:
    form = session.output("json")
    if not reason:
        raise UsageProblem("--reason: required")
    body = {"run": _identity(session, run), "do": do, "reason": reason, **more}
    answer = session.client.send("POST", paths.CONTROL_RUNS, body)
    if form:
        emit_json(answer)
        return 0
    out(safe(f"run {answer.get('id')} is {answer.get('state')}"))
    owner = answer.get("owner") or {}
    say(f"Next: rmctl describe {safe(named_as(owner))}")
    return 0


def _no_json(text: str) -> Any:
    raise ValueError(text)


def _identity(session: Session, text: str) -> str:
    """The one id that starts so."""
    if not text:
        raise UsageProblem("RUN: expected an id, or the start of one", hint="rmctl runs")
    found = [str(one["id"]) for one in session.client.get(paths.RUNS, {"id": text}).get("items", [])]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageProblem(f'no run has an id that starts with "{safe(text)}"', hint="rmctl runs")
    raise UsageProblem(f'{len(found)} runs have an id that starts with "{safe(text)}"', hint="rmctl runs")
