"""`rmctl config`: who may call the server from elsewhere, and how its clients know it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import context_verbs, paths
from cli.durations import age, seconds
from cli.errors import BadEnvironment, ServerRefused, UsageProblem
from cli.output import emit, emit_json
from cli.private_files import write_private
from cli.running import SETTINGS
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe, say
from cli.views.wire import World

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, context_settings=SETTINGS)
app.callback()(lambda: None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="whose it is; the audit calls them so")]
Role = Annotated[str, typer.Option("--role", metavar="ROLE", help="viewer, operator or admin")]
Lasts = Annotated[str, typer.Option("--ttl", metavar="DURATION", help="how long it lasts; for good unless given")]
SERVER_NAME = "server.rmctl"
"""Stands in every server certificate, under whatever address the server is reached."""


@app.command("token", help="Print a token for somebody, and nothing else. The one they had before is void.")
def token(context: typer.Context, name: Name, role: Role, ttl: Lasts = "") -> int:
    session: Session = context.obj
    form = session.output("json")
    answer = _issued(session, name, role, ttl)
    if form:
        emit_json(answer)
    else:
        out(safe(str(answer["token"])))
    return 0


@app.command("certificate", help="Write a client certificate and its key to a file that only you can read.")
def certificate(
    context: typer.Context,
    name: Name,
    role: Role,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="must not exist yet")],
    ttl: Annotated[str, typer.Option("--ttl", metavar="DURATION", help="a year unless given")] = "",
) -> int:
    session: Session = context.obj
    session.output()
    if to.exists():
        raise UsageProblem(f"{to}: there is a file already")
    answer = _issued(session, name, role, ttl, certificate=True)
    write_private(to, answer["key"] + answer["certificate"])
    out(f"{safe(name)}, {role}: certificate and key in {to}")
    return 0


@app.command("users", help="Who has a token or a certificate, and with which role.")
def users(context: typer.Context) -> int:
    session: Session = context.obj
    form = session.output("json", "yaml", "jsonpath")
    answer = session.client.get(paths.USERS)
    if form:
        emit(answer, form)
        return 0
    world = World(session.now())
    rows = [
        (one["name"], one["role"], one["shows"], age(world.since(one["createdAt"]) or 0), one.get("expiresAt", "-"))
        for one in answer["items"]
    ]
    out_lines(lines([("NAME", "ROLE", "SHOWS", "AGE", "ENDS"), *rows]))
    return 0


@app.command("revoke", help="Void what somebody could call with, at once.")
def revoke(context: typer.Context, name: Name) -> int:
    session: Session = context.obj
    session.output()
    session.client.send("DELETE", f"{paths.USERS}/{name}")
    out(f"{safe(name)} revoked")
    return 0


@app.command("authority", help="Print the CA of the server's listeners with TLS, as PEM.")
def authority(context: typer.Context) -> int:
    session: Session = context.obj
    session.output()
    out_lines(str(session.client.get(paths.AUTHORITY)["pem"]).splitlines())
    return 0


@app.command("kubeconfig", help="Print a configuration for kubectl, with a token of its own in it.")
def kubeconfig(
    context: typer.Context,
    name: Annotated[str, typer.Option("--name", help="whose token it is; kubectl unless given")] = "kubectl",
    role: Role = "admin",
    ttl: Lasts = "",
) -> int:
    session: Session = context.obj
    session.output()
    listener = _listener(session)
    answer = _issued(session, name, role, ttl)
    text = kubernetes(listener, name, str(answer["token"]), _authority(session), session.project)
    out_lines(text.splitlines())
    say("It holds a token: keep it where only you can read it.")
    return 0


for _name, _verb, _help in (
    ("contexts", context_verbs.contexts, "The named servers of this user; the current one has a star."),
    ("add", context_verbs.add, "Remember a server under a name, and how to call it."),
    ("use", context_verbs.use, "Make a context the current one; `local` is the server of this machine."),
    ("remove", context_verbs.remove, "Forget a context; the server keeps what it gave out."),
):
    app.command(_name, help=_help)(_verb)


def kubernetes(listener: str, user: str, token: str, authority: str, project: str) -> str:
    """YAML that kubectl reads. Over plain HTTP its library sends no header, so the token stands in the address."""
    secure = listener.startswith("https://")
    cluster: dict[str, Any] = {"server": listener}
    account: dict[str, Any] = {"token": token}
    if secure:
        from base64 import b64encode

        cluster |= {
            "certificate-authority-data": b64encode(authority.encode()).decode(),
            "tls-server-name": SERVER_NAME,
        }
    else:
        cluster["server"] = listener.replace("://", f"://{user}:{token}@", 1)
        account = {}
    quoted = {key: json.dumps(value) for key, value in {**cluster, **account}.items()}
    return "\n".join(
        [
            "apiVersion: v1",
            "kind: Config",
            "current-context: rmctl",
            "contexts:",
            "  - name: rmctl",
            f"    context: {{cluster: rmctl, user: {user}, namespace: {project}}}",
            "clusters:",
            "  - name: rmctl",
            "    cluster:",
            *(f"      {key}: {quoted[key]}" for key in cluster),
            "users:",
            f"  - name: {user}",
            "    user:" + ("" if account else " {}"),
            *(f"      {key}: {quoted[key]}" for key in account),
        ]
    )


def _issued(session: Session, name: str, role: str, ttl: str, *, certificate: bool = False) -> dict[str, Any]:
    body: dict[str, Any] = {"name": name, "role": role, "certificate": certificate}
    if ttl:
        body["ttlSeconds"] = seconds(ttl)
    return session.client.send("POST", paths.USERS, body)


def _listener(session: Session) -> str:
    """One with TLS before a plain one. Raises BadEnvironment when the server has neither."""
    import socket

    found = [str(one) for one in session.client.get(paths.SERVER).get("listeners") or ()]
    chosen = next((one for scheme in ("https://", "http://") for one in found if one.startswith(scheme)), None)
    if chosen is None:
        raise BadEnvironment("this server listens on its socket alone", hint="rmctl server --http 127.0.0.1:7077")
    for anywhere in ("://0.0.0.0:", "://[::]:"):
        chosen = chosen.replace(anywhere, f"://{socket.gethostname()}:")
    return chosen


def _authority(session: Session) -> str:
    try:
        return str(session.client.get(paths.AUTHORITY)["pem"])
    except ServerRefused as refused:
        if refused.code != 404:
            raise
        return ""
