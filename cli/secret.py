"""`rmctl secret`: values that jobs are given and nobody can read back."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cli import paths
from cli.durations import age
from cli.errors import BadManifest, Problem, UsageProblem
from cli.output import emit, listed
from cli.running import SETTINGS
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe, say, warn
from cli.views.wire import World
from resources.names import label_problem

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, context_settings=SETTINGS)
app.callback()(lambda: None)
MAX_BYTES = 64 * 1024
MASKED = 6
"""Shorter values are not masked in logs: they are words of every other text."""
HEADER = ("SECRET", "KEY", "DIGEST", "AGE", "USED BY")

Name = Annotated[str, typer.Argument(metavar="NAME")]


@app.command("set", help="Keep a value, from stdin or typed in without an echo. One line end at its end is dropped.")
def set_(
    context: typer.Context,
    name: Name,
    key: Annotated[str, typer.Argument(metavar="KEY")],
) -> int:
    session: Session = context.obj
    form = session.output("json")
    path = _path(session, name, key)
    value = _value(f"{name} {key}")
    answer = session.client.send("PUT", path, {"value": value})
    if form:
        emit(answer, form)
        return 0
    out(safe(f"secret/{name} {key} {answer.get('outcome')}"))
    if len(value) < MASKED:
        warn(f"the value has under {MASKED} characters: it is not masked in logs")
    say(f"Jobs get it at their next start: secretEnv: {{NAME: {{secret: {name}, key: {key}}}}}")
    return 0


@app.command("list", help="Names, keys and digests. A digest tells a changed value from an unchanged one.")
def list_(context: typer.Context) -> int:
    session: Session = context.obj
    form = session.output("json", "yaml")
    found = session.client.get(_path(session)).get("items", [])
    if form:
        emit(listed(found), form)
        return 0
    if not found:
        say(f"no secrets in project {session.project}")
        return 0
    around = World(session.now())
    out_lines(lines([HEADER, *(_cells(one, around) for one in found)]))
    return 0


@app.command("delete", help="Forget one key, or the whole secret. Jobs that run keep what they were given.")
def delete(
    context: typer.Context,
    name: Name,
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="all keys unless given")] = "",
) -> int:
    session: Session = context.obj
    form = session.output("json")
    answer = session.client.send("DELETE", _path(session, name, key))
    if form:
        emit(answer, form)
    else:
        out(safe(f"secret/{name} {key + ' ' if key else ''}deleted"))
    return 0


def _path(session: Session, name: str = "", key: str = "") -> str:
    problem = label_problem(name) if name else None
    if problem:
        raise UsageProblem(f'secret name "{safe(name)}": {problem}')
    if key and not key.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise UsageProblem(f'key "{safe(key)}": letters, digits, hyphens, dots and underscores')
    parts = [part for part in (name, key) if part]
    return "/".join([f"{paths.ROOT}/namespaces/{session.project}/secrets", *parts])


def _value(what: str) -> str:
    """Never from the command line: others can read that. Raises BadManifest."""
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        return _checked(getpass(f"Value of {what}: ").encode())
    data = sys.stdin.buffer.read(MAX_BYTES + 2) if sys.stdin is not None else b""
    return _checked(data)


def _checked(data: bytes) -> str:
    data = data.removesuffix(b"\n").removesuffix(b"\r")
    if not data:
        raise BadManifest([Problem("stdin", "the value is empty")])
    if len(data) > MAX_BYTES:
        raise BadManifest([Problem("stdin", f"the value is over {MAX_BYTES} bytes")])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadManifest([Problem("stdin", f"not UTF-8 at byte {error.start}")]) from None


def _cells(one: dict[str, Any], around: World) -> tuple[str, ...]:
    since = around.since(one.get("setAt"))
    users = list(one.get("usedBy") or ())
    used = ", ".join(users[:3]) + (f" and {len(users) - 3} more" if len(users) > 3 else "")
    digest = "value missing" if one.get("missing") else str(one.get("digest", ""))
    return (str(one.get("name")), str(one.get("key")), digest, age(since) if since is not None else "-", used or "-")
