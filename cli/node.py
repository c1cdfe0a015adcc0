"""`rmctl node`: what lets a machine in."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from cli import paths
from cli.errors import ServerRefused, UsageProblem
from cli.fetching import one
from cli.kinds import NODE
from cli.output import emit_json
from cli.patching import change, told
from cli.running import SETTINGS
from cli.session import Session
from cli.targets import Target, wire_name
from cli.terminal import out, safe, say
from cli.views.wire import ready
from resources.instants import rfc3339

CONFLICT = 409
LOST = "rmctl/lost"
LOST_REASON = "rmctl/lost-reason"

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, context_settings=SETTINGS)
app.callback()(lambda: None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="what the node will be called")]
Pool = Annotated[str, typer.Option("--pool", help="default unless given")]
Labels = Annotated[list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="repeatable")]


@app.command("token", help="Print a join token, and nothing else. It is good for one node, once.")
def token(context: typer.Context, name: Name, pool: Pool = "", label: Labels = None) -> int:
    session: Session = context.obj
    answer = _issued(session, name, pool, label or [])
    if session.output("json"):
        emit_json(answer)
    else:
        out(safe(str(answer["token"])))
    return 0


@app.command("join", help="Print the whole command that starts the node's agent, its token in it.")
def join(
    context: typer.Context,
    name: Name,
    pool: Pool = "",
    label: Labels = None,
    capacity: Annotated[str, typer.Option(metavar="VCPU")] = "",
    capability: Annotated[list[str] | None, typer.Option(metavar="NAME", help="repeatable")] = None,
    zone: Annotated[str, typer.Option()] = "",
    address: Annotated[str, typer.Option(help="where the node's jobs are reached")] = "",
) -> int:
    session: Session = context.obj
    form = session.output("json")
    answer = _issued(session, name, pool, label or [])
    words = ["rmctl", "agent", "--node", name]
    own = (("--pool", pool), ("--capacity", capacity), ("--zone", zone), ("--address", address))
    for flag, value in (*own, *(("--capability", provided) for provided in capability or ())):
        words += [flag, value] if value else []
    doors = [str(door) for door in answer.get("agents") or ()]
    server = next((door for door in doors if not door.startswith("unix:")), doors[0] if doors else "")
    words += ["--server", server] if server else []
    command = shlex.join([*words, "--token", str(answer["token"])])
    if form:
        emit_json({**answer, "command": command})
    else:
        out(safe(command))
        say("The token is good once; run this on the machine that joins.")
    return 0


@app.command("lost", help="Say that a silent node will not come back: its jobs are placed again, those that hold too.")
def lost(
    context: typer.Context,
    name: Name,
    reason: Annotated[str, typer.Option("--reason", help="kept with the node")] = "",
) -> int:
    session: Session = context.obj
    target = Target(NODE, wire_name(NODE, name))
    found = one(session, target)
    state = ready(found)
    if state.status == "True":
        raise ServerRefused(
            CONFLICT,
            "Conflict",
            f"{target} is heard of now ({state.reason})",
            hint=f"rmctl cordon {name} keeps jobs away",
        )
    annotations = {LOST: rfc3339(session.now()), LOST_REASON: reason or None}
    written = change(session, target, {"metadata": {"annotations": annotations}})
    return told(session.output("json", "yaml", "name"), [target], [written], "is given up", "rmctl get {target} -w")


def _issued(session: Session, name: str, pool: str, labels: list[str]) -> dict[str, Any]:
    body: dict[str, Any] = {"node": wire_name(NODE, name), "labels": dict(map(_pair, labels))}
    if pool:
        body["pool"] = pool
    return session.client.send("POST", paths.TOKENS, body)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageProblem(f'--label "{text}": expected KEY=VALUE')
    return key, value
