"""`rmctl config contexts`, `add`, `use` and `remove`: the named servers of one's own file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.contexts import contexts_file
from cli.errors import BadEnvironment, UsageProblem
from cli.output import emit, listed
from cli.private_files import write_private
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe

LOCAL = "local"
"""What no context stands for: the socket in the default data folder."""


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


def use(context: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME")]) -> int:
    session: Session = context.obj
    session.output()
    document = _contexts()
    if name in document.get("contexts", {}):
        document["current-context"] = name
        _store(document)
        out(f"context {safe(name)} is the current one")
        return 0
    if name != LOCAL:
        raise _unknown(name)
    if document.pop("current-context", None) is not None:
        _store(document)
    out("no context is the current one: rmctl calls the server of this machine")
    return 0


def remove(context: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME")]) -> int:
    session: Session = context.obj
    session.output()
    document = _contexts()
    if document.get("contexts", {}).pop(name, None) is None:
        raise _unknown(name)
    current = document.get("current-context") == name
    if current:
        del document["current-context"]
    _store(document)
    out(f"context {safe(name)} removed" + (": rmctl calls the server of this machine now" if current else ""))
    return 0


def _unknown(name: str) -> UsageProblem:
    return UsageProblem(f'{contexts_file()} has no context "{name}"', hint="rmctl config contexts")


def _context(name: str, entry: dict[str, Any], current: object) -> dict[str, Any]:
    """What may be shown of a context: never its token."""
    shown: dict[str, Any] = {
        key: entry[key] for key in ("server", "project", "certificate", "authority") if key in entry
    }
    return {"name": name, "current": name == current, **shown}


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
    write_private(beside, "\n".join(text) + "\n")
    beside.replace(path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironment(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
