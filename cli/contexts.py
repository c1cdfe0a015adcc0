"""Contexts: named servers in a file of one's own, with the token for each."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from cli import messages
from cli.errors import UsageProblem
from cli.terminal import warn


class Context(NamedTuple):
    """`token`, or `certificate` (a file with its key), and `authority` (a file with the CA) are for servers behind TCP.

    `RMCTL_TOKEN`, `RMCTL_CERTIFICATE` and `RMCTL_AUTHORITY` stand in for them.
    """

    server: str | None = None
    project: str | None = None
    token: str | None = None
    authority: str | None = None
    certificate: str | None = None


ENVIRONMENT = {"token": "RMCTL_TOKEN", "authority": "RMCTL_AUTHORITY", "certificate": "RMCTL_CERTIFICATE"}


def contexts_file() -> Path:
    """`RMCTL_CONFIG`, else `rmctl/config.toml` in the configuration folder."""
    named = os.environ.get("RMCTL_CONFIG")
    if named:
        return Path(named)
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "rmctl" / "config.toml"


def find_context(name: str | None) -> Context:
    """The named context, else the current one, else an empty one. Raises UsageProblem for a bad file."""
    path = contexts_file()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            document = _parsed(path, file.read(1 << 20))
    except FileNotFoundError:
        document, mode = {}, 0
    except OSError as error:
        raise UsageProblem(messages.BAD_CONTEXTS.format(path=path, problem=error.strerror)) from None
    contexts = document.get("contexts", {})
    wanted = name or document.get("current-context")
    if wanted is None:
        return Context()
    entry = contexts.get(wanted) if isinstance(contexts, dict) else None
    if not isinstance(entry, dict):
        raise UsageProblem(messages.NO_CONTEXT.format(path=path, name=wanted))
    fields = {key: entry.get(key) for key in Context._fields}
    wrong = next((key for key, value in fields.items() if value is not None and not isinstance(value, str)), None)
    if wrong is not None:
        raise UsageProblem(messages.BAD_CONTEXTS.format(path=path, problem=f"contexts.{wanted}.{wrong}: expected text"))
    if fields["token"] and mode & (stat.S_IRWXG | stat.S_IRWXO):
        warn(messages.LOOSE_CONTEXTS.format(path=path))
    return Context(**fields)


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageProblem(messages.BAD_CONTEXTS.format(path=path, problem=error)) from None
