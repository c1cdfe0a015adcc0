"""`rmctl apply`: reads strictly, sends everything in one piece, and says what changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli import messages, paths
from cli.durations import seconds
from cli.errors import USAGE, BadManifest, ServerRefused, UsageProblem
from cli.kinds import known
from cli.manifests import Manifest, load, located
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.targets import Target
from cli.terminal import out, safe, say
from cli.waiting import DEFAULT_SECONDS, await_ready
from resources.names import shown

MANAGER = "rmctl"
FILES_HELP = "a file, a directory, or - for stdin; repeatable"


def apply(
    context: typer.Context,
    files: Annotated[list[str], typer.Option("-f", "--filename", help=FILES_HELP)],
    recursive: Annotated[bool, typer.Option("-R", "--recursive", help="directories below directories too")] = False,
    dry_run: Annotated[str, typer.Option(metavar="client|server", help="check only; nothing is stored")] = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="return when all of it is ready")] = False,
    timeout: Annotated[float, typer.Option(parser=seconds, metavar="DURATION", help="for --wait; 10m unless given")] = DEFAULT_SECONDS,
    force_conflicts: Annotated[bool, typer.Option(help="take over fields that others set")] = False,
) -> int:
    """Create or change what files describe: all of it or, if anything is wrong, nothing."""
    session: Session = context.obj
    form = session.output("json", "yaml", "name")
    if dry_run not in ("", "client", "server"):
        raise UsageProblem(messages.DRY_RUN.format(text=dry_run))
    manifests = load(files, recursive=recursive)
    if dry_run == "client":
        from cli.offline import check

        items = check(manifests)
    else:
        items = send(session, manifests, dry_run=dry_run == "server", force=force_conflicts)
    if form in ("json", "yaml"):
        (emit_json if form == "json" else emit_yaml)({"items": items})
    else:
        _print(items, form, f" ({dry_run} dry run)" if dry_run else "")
    if wait and not dry_run:
        await_ready(session, _targets(session, items), timeout)
    elif not form and not dry_run:
        say(_next(items))
    return 0


def send(session: Session, manifests: Sequence[Manifest], *, dry_run: bool, force: bool = False) -> list[dict[str, Any]]:
    """The outcome of each document. Raises BadManifest with places in the files for fields that the server refuses."""
    body = {"documents": documents(session, manifests), "fieldManager": MANAGER, "dryRun": dry_run}
    return posted(session, paths.BATCH, {**body, "force": True} if force else body, manifests)


def posted(session: Session, path: str, body: dict[str, Any], manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = session.client.send("POST", path, body).get("items", [])
    except ServerRefused as error:
        if error.exit_code != USAGE or not error.causes:
            raise
        raise BadManifest(located(error.causes, manifests), hint=error.hint) from None
    return found


def documents(session: Session, manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """As they were read, with the project that was asked for where a document names none."""
    project = session.asked_project
    return [_in_project(manifest, session.project) if project else manifest.document for manifest in manifests]


def _in_project(manifest: Manifest, project: str) -> dict[str, Any]:
    kind = known(manifest.kind)
    if manifest.project or not isinstance(manifest.document.get("metadata"), dict) or (kind and not kind.namespaced):
        return manifest.document
    return {**manifest.document, "metadata": {**manifest.metadata, "project": project}}


def _print(items: Sequence[dict[str, Any]], form: str, note: str) -> None:
    for item in items:
        name = safe(shown(str(item.get("kind")), str(item.get("name"))))
        if form == "name":
            out(name)
            continue
        out(f"{name} {item.get('outcome')}{note}")
        if item.get("restarts"):
            out(f"restarts: {', '.join(safe(str(job)) for job in item['restarts'])}")
        if item.get("hint"):
            say(f"hint: {item['hint']}")


def _targets(session: Session, items: Sequence[dict[str, Any]]) -> list[Target]:
    found = []
    for item in items:
        project = str(((item.get("object") or {}).get("metadata") or {}).get("namespace") or "")
        found.append(Target(session.kind(str(item["kind"])), str(item["name"]), project))
    return found


def _next(items: Sequence[dict[str, Any]]) -> str:
    changed = [item for item in items if item.get("outcome") != "unchanged"] or list(items)
    if len(changed) == 1:
        return f"Next: rmctl get {shown(str(changed[0].get('kind')), str(changed[0].get('name')))} -w"
    return "Next: rmctl get resources"
