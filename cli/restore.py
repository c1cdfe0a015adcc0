"""`rmctl restore`: a backup becomes the store of a data folder; its server starts held, and waits for a person."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from cli.address import data_folder
from cli.errors import BadEnvironment
from cli.output import emit_json
from cli.session import Session
from cli.terminal import out, safe, say


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="written by rmctl backup")],
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="RM_DATA, else the state folder")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="put the database that is there aside")] = False,
    verify_only: Annotated[bool, typer.Option("--verify-only", help="read the backup, and change nothing")] = False,
) -> int:
    """Read a backup through, then put it in place. No server may run in the folder."""
    session: Session = context.obj
    form = session.output("json")
    from store import backups, restoring
    from store.errors import StoreError

    folder = (data or data_folder()).absolute()
    try:
        if verify_only:
            verified, aside = backups.verify(file), None
        else:
            done = restoring.restore(file, folder, by=_user(), now=session.now(), replace=replace)
            verified, aside = done.verified, done.aside
    except StoreError as error:
        hint = "--replace puts it aside" if "holds a database" in str(error) else ""
        raise BadEnvironment(str(error), hint=hint) from None
    except OSError as error:
        raise BadEnvironment(f"{error.filename or file}: {(error.strerror or str(error)).lower()}") from None
    if form:
        emit_json(
            {
                "file": str(file.absolute()),
                "data": None if verify_only else str(folder),
                "aside": None if aside is None else str(aside),
                "schema": verified.schema,
                "revision": verified.revision,
                "resources": verified.rows["resources"],
                "sha256": verified.sha256,
            }
        )
        return 0
    told = f"{verified.rows['resources']} resources, revision {verified.revision}, schema {verified.schema}"
    out(safe(f"{file} is whole: {told}" if verify_only else f"{folder} restored from {file}: {told}"))
    if aside is not None:
        out(safe(f"what was there before is in {aside}"))
    if not verify_only:
        say("Next: rmctl server   (it holds every effect), then rmctl audit capacity, then rmctl resume server")
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
