"""`rmctl node`: what lets a machine in."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from cli import paths
from cli.client import MERGE
from cli.errors import UsageProblem
from cli.kinds import NODE
from cli.output import emit_json
from cli.patching import MANAGER
from cli.running import SETTINGS
from cli.session import Session
from cli.targets import Target, wire_name
from cli.terminal import out, safe, say
from resources.instants import rfc3339

LOST_ANNOTATION = "rmctl/lost"
"""When a person gave the node up; a heartbeat after that takes it back."""
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
    for flag, value in (*own, *(("--capability", one) for one in capability or ())):
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


@app.command("lost", help="Say that a silent node will not come back. Its jobs are placed elsewhere, held ones too.")
def lost(context: typer.Context, name: Name) -> int:
    session: Session = context.obj
    target = Target(NODE, wire_name(NODE, name))
    body = {"metadata": {"annotations": {LOST_ANNOTATION: rfc3339(session.now())}}}
    query = {"fieldManager": MANAGER}
    session.client.send("PATCH", paths.item(target, session.project), body, query=query, content_type=MERGE)
    out(f"{target} given up, unless it is heard again")
    return 0


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
