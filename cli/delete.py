"""`rmctl delete`: asks for the end of resources, and waits until they are gone."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.durations import seconds
from cli.errors import ServerRefused, UsageProblem
from cli.goals import Gone
from cli.manifests import load
from cli.output import emit_json, emit_yaml
from cli.removing import remove_by_force
from cli.session import Session
from cli.targets import Target, called, named
from cli.terminal import out
from cli.waiting import DEFAULT_TIMEOUT, await_goal

NOT_FOUND = 404


def delete(
    context: typer.Context,
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[KIND NAME...]", help="KIND NAME... or KIND/NAME...")
    ] = None,
    files: Annotated[list[str] | None, typer.Option("-f", "--filename", help="what these files describe")] = None,
    recursive: Annotated[bool, typer.Option("-R", "--recursive", help="directories below directories too")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="return when they are gone")] = True,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="10m unless given")] = DEFAULT_TIMEOUT,
    ignore_not_found: Annotated[bool, typer.Option(help="what is not there is no error")] = False,
    uid: Annotated[str, typer.Option(help="only if it is still this one")] = "",
    force: Annotated[bool, typer.Option("--force", help="remove the record, whatever it promised to clean up")] = False,
    reason: Annotated[str, typer.Option("--reason", help="kept in the audit; required with --force")] = "",
) -> int:
    """End what runs, then remove it. Names only: there is no way to delete everything at once."""
    session: Session = context.obj
    limit = seconds(timeout)
    if force and not reason:
        raise UsageProblem("--force needs --reason: it is kept in the audit")
    form = session.output("json", "yaml", "name")
    targets = _targets(session, what or [], files or [], recursive)
    if uid and len(targets) != 1:
        raise UsageProblem("--uid goes with one resource")
    if force:
        return remove_by_force(session, targets, uid, reason, form)
    asked, missing = _asked(session, targets, uid)
    if wait and asked:
        await_goal(session, asked, Gone(), limit)
    outcome = "deleted" if wait else "is being deleted"
    if form in ("json", "yaml"):
        items = [{"kind": target.kind.name, "name": target.name, "outcome": outcome} for target in asked]
        if not missing or ignore_not_found:
            (emit_json if form == "json" else emit_yaml)({"items": items})
    else:
        for target in asked:
            out(str(target) if form == "name" else f"{target} {outcome}")
    if missing and not ignore_not_found:
        raise missing[0]
    return 0


def _targets(session: Session, what: list[str], files: list[str], recursive: bool) -> list[Target]:
    if bool(what) == bool(files):
        raise UsageProblem("name what to delete: KIND NAME, KIND/NAME or -f FILE", hint="rmctl delete --help")
    if what:
        return named(what, session.kind)
    found = []
    for manifest in load(files, recursive=recursive):
        kind = session.kind(manifest.kind)
        found.append(called(kind, manifest.name, manifest.project))
    return found[::-1]


def _asked(session: Session, targets: list[Target], uid: str) -> tuple[list[Target], list[ServerRefused]]:
    """Those that were there and are asked to go, and the refusals for the others. Any other refusal is raised."""
    body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if uid:
        body["preconditions"] = {"uid": uid}
    asked, missing = [], []
    for target in targets:
        try:
            session.client.send("DELETE", paths.item(target, target.project or session.project), body)
        except ServerRefused as error:
            if error.code != NOT_FOUND:
                raise
            missing.append(error)
        else:
            asked.append(target)
    return asked, missing
