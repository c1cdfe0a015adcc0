"""`rmctl apply`: reads strictly, sends everything in one piece, and says what changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from cli import messages, paths
from cli.durations import seconds
from cli.errors import USAGE, BadManifest, ServerRefused, UsageProblem
from cli.manifests import Manifest, load, located
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.targets import Target
from cli.terminal import out, safe, say
from cli.waiting import DEFAULT_TIMEOUT, await_ready
from resources.names import shown

MANAGER = "rmctl"
MOST_LETTERS = 60
FILES_HELP = "a file, a directory, or - for stdin; repeatable"


def apply(
    context: typer.Context,
    files: Annotated[list[str], typer.Option("-f", "--filename", help=FILES_HELP)],
    recursive: Annotated[bool, typer.Option("-R", "--recursive", help="directories below directories too")] = False,
    dry_run: Annotated[str, typer.Option(metavar="client|server", help="check only; nothing is stored")] = "",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="return when all of it is ready")] = False,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="for --wait; 10m unless given")] = DEFAULT_TIMEOUT,
    force_conflicts: Annotated[bool, typer.Option(help="take over fields that others set")] = False,
) -> int:
    """Create or change what files describe: all of it or, if anything is wrong, nothing."""
    session: Session = context.obj
    limit = seconds(timeout)
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
        await_ready(session, _targets(session, items), limit)
    elif not form and not dry_run:
        say(_next(items))
    return 0


def send(
    session: Session, manifests: Sequence[Manifest], *, dry_run: bool, force: bool = False
) -> list[dict[str, Any]]:
    """The outcome of each document. Raises BadManifest with places in the files for fields that the server refuses."""
    body = {"fieldManager": MANAGER, "dryRun": dry_run, "force": force}
    return posted(session, paths.BATCH, body, manifests)


def posted(session: Session, path: str, body: dict[str, Any], manifests: Sequence[Manifest]) -> list[dict[str, Any]]:
    """Sends the documents, with the project that was asked for in case one names none."""
    whole = {**body, "documents": [manifest.document for manifest in manifests]}
    if session.asked_project:
        whole["project"] = session.project
    try:
        found: list[dict[str, Any]] = session.client.send("POST", path, whole).get("items", [])
    except ServerRefused as error:
        if error.exit_code != USAGE or not error.causes:
            raise
        raise BadManifest(located(error.causes, manifests), hint=error.hint) from None
    return found


def _print(items: Sequence[dict[str, Any]], form: str, note: str) -> None:
    for item in items:
        name = safe(shown(str(item.get("kind")), str(item.get("key") or item.get("name"))))
        if form == "name":
            out(name)
            continue
        out(f"{name} {item.get('outcome')}{note}")
        if item.get("restarts"):
            out(f"restarts: {', '.join(safe(str(job)) for job in item['restarts'])}")
        for text in left_alone(item):
            say(text)
        if item.get("hint"):
            say(f"hint: {item['hint']}")


def left_alone(item: dict[str, Any]) -> Iterator[str]:
    """The fields that the file sets to something else than what stands, and who holds them."""
    name = shown(str(item.get("kind")), str(item.get("key") or item.get("name")))
    for kept in item.get("kept") or ():
        standing, asked = (_brief(kept.get(which)) for which in ("standing", "asked"))
        yield f"{name}: {kept.get('field')} stays {standing}, set by {kept.get('manager')}; the file says {asked}"


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def _targets(session: Session, items: Sequence[dict[str, Any]]) -> list[Target]:
    return [
        Target(
            session.kind(str(item["kind"])),
            str(item["name"]),
            str(item.get("project") or ""),
            str(item.get("key") or ""),
        )
        for item in items
    ]


def _next(items: Sequence[dict[str, Any]]) -> str:
    changed = [item for item in items if item.get("outcome") != "unchanged"] or list(items)
    if len(changed) == 1:
        (item,) = changed
        return f"Next: rmctl get {shown(str(item.get('kind')), str(item.get('key') or item.get('name')))} -w"
    return "Next: rmctl get resources"
