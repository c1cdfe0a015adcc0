"""`rmctl backup`: a copy of the store, made and read back while the server runs, and kept in a file here."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated

import typer

from cli import paths
from cli.errors import BadEnvironment, UsageProblem
from cli.output import emit_json
from cli.session import Session
from cli.terminal import out, safe, say

PART_BYTES = 1024 * 1024
MODE = 0o600


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="must not exist yet")],
    replace: Annotated[bool, typer.Option("--replace", help="take the place of an older one")] = False,
) -> int:
    """Write a verified backup. Secrets' values are not in it: keep a copy of DATA/secrets too."""
    session: Session = context.obj
    form = session.output("json")
    if file.is_dir():
        raise UsageProblem(f"{file}: is a directory")
    if file.exists() and not replace:
        raise UsageProblem(f"{file}: exists", hint="--replace takes its place once the new one is whole")
    made = file.with_name(f".{file.name}.new")
    try:
        headers = _fetched(session, made)
        made.replace(file)
        _sync_folder(file)
    except OSError as error:
        raise BadEnvironment(f"{file}: {(error.strerror or str(error)).lower()}") from None
    finally:
        made.unlink(missing_ok=True)
    told = {
        "file": str(file.absolute()),
        "sha256": headers["rmctl-backup-sha256"],
        "revision": int(headers["rmctl-backup-revision"]),
        "schema": headers["rmctl-backup-schema"],
        "resources": int(headers["rmctl-backup-resources"]),
        "bytes": file.stat().st_size,
    }
    session.client.send("POST", paths.KEPT, {"sha256": told["sha256"], "file": told["file"]})
    if form:
        emit_json(told)
        return 0
    out(safe(f"{file}  {told['bytes']} bytes, {told['resources']} resources, revision {told['revision']}, verified"))
    say("Secrets' values are not in it. To come back from it: rmctl restore FILE --data DIR")
    return 0


def _fetched(session: Session, made: Path) -> dict[str, str]:
    """The headers of a copy that arrived whole. Raises BadEnvironment for one that did not."""
    made.unlink(missing_ok=True)
    handle = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
    with os.fdopen(handle, "w+b") as file:
        headers = dict(session.client.download(paths.BACKUP, file))
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        found = hashlib.sha256()
        while part := file.read(PART_BYTES):
            found.update(part)
    if found.hexdigest() != headers.get("rmctl-backup-sha256"):
        raise BadEnvironment("the copy did not arrive whole; nothing is kept")
    return headers


def _sync_folder(file: Path) -> None:
    handle = os.open(file.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
