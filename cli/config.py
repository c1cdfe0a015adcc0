"""`rmctl config`: who may call the server from elsewhere, and how its clients know it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import paths
from cli.contexts import contexts_file
from cli.durations import age, seconds
from cli.errors import BadEnvironment, ServerRefused, UsageProblem
from cli.output import emit, emit_json, listed
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
    _write_private(to, answer["key"] + answer["certificate"])
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


@app.command("contexts", help="The named servers of this user; the current one has a star.")
def contexts(context: typer.Context) -> int:
    session: Session = context.obj
    form = session.output("json", "yaml", "jsonpath")
    document = _contexts()
    current = document.get("current-context")
    if form:
        emit(
            listed([_context(name, entry, current) for name, entry in sorted(document.get("contexts", {}).items())]),
            form,
        )
        return 0
    rows = [
        ("*" if name == current else "", name, str(entry.get("server", "-")), str(entry.get("project", "-")))
        for name, entry in sorted(document.get("contexts", {}).items())
    ]
    out_lines(lines([("", "NAME", "SERVER", "PROJECT"), *rows]))
    return 0


@app.command("add", help="Remember a server under a name, and how to call it.")
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    address: Annotated[str, typer.Option("--address", metavar="ADDRESS", help="https://HOST:PORT or unix:PATH")],
    token_file: Annotated[Path | None, typer.Option(metavar="FILE", help="the token is in this file")] = None,
    certificate_file: Annotated[Path | None, typer.Option("--certificate", metavar="FILE")] = None,
    authority_file: Annotated[Path | None, typer.Option("--authority", metavar="FILE", help="the CA, PEM")] = None,
    default_project: Annotated[str, typer.Option("--default-project", metavar="NAME")] = "",
) -> int:
    from cli.address import parse_address

    session: Session = context.obj
    session.output()
    parse_address(address)
    entry: dict[str, str] = {"server": address}
    if default_project:
        entry["project"] = default_project
    if token_file is not None:
        entry["token"] = _read(token_file)
        if not entry["token"]:
            raise UsageProblem(f"--token-file {token_file}: is empty")
    for key, path in (("certificate", certificate_file), ("authority", authority_file)):
        if path is not None:
            entry[key] = str(path.absolute())
    document = _contexts()
    document.setdefault("contexts", {})[name] = entry
    current = document.setdefault("current-context", name) == name
    _store(document)
    out(f"context {safe(name)} kept in {contexts_file()}" + (", and it is the current one" if current else ""))
    return 0


@app.command("use", help="Make a context the current one.")
def use(context: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME")]) -> int:
    session: Session = context.obj
    session.output()
    document = _contexts()
    if name not in document.get("contexts", {}):
        raise UsageProblem(f'{contexts_file()} has no context "{name}"')
    document["current-context"] = name
    _store(document)
    out(f"context {safe(name)} is the current one")
    return 0


def _context(name: str, entry: dict[str, Any], current: object) -> dict[str, Any]:
    """What may be shown of a context: never its token."""
    shown: dict[str, Any] = {
        key: entry[key] for key in ("server", "project", "certificate", "authority") if key in entry
    }
    return {"name": name, "current": name == current, **shown}


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


def _contexts() -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(contexts_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageProblem(f"{contexts_file()}: {error}") from None


def _store(document: dict[str, Any]) -> None:
    """As TOML; texts of JSON are texts of TOML."""
    text = [f"current-context = {json.dumps(document['current-context'])}"] if document.get("current-context") else []
    for name, entry in document.get("contexts", {}).items():
        text += ["", f"[contexts.{json.dumps(name)}]"]
        text += [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    path = contexts_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    _write_private(beside, "\n".join(text) + "\n")
    beside.replace(path)


def _write_private(path: Path, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise BadEnvironment(f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironment(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
