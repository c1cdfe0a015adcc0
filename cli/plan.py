"""`rmctl plan`: what apply would change, and where it would run now; nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli import paths
from cli.apply import FILES_HELP, MANAGER, posted
from cli.errors import FOUND_DIFFERENCES, NO_PLACE
from cli.manifests import Manifest, load
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.tables import lines
from cli.terminal import out, out_lines, safe, say
from resources.names import shown

Item = dict[str, Any]


def plan(
    context: typer.Context,
    files: Annotated[list[str], typer.Option("-f", "--filename", help=FILES_HELP)],
    recursive: Annotated[bool, typer.Option("-R", "--recursive", help="directories below directories too")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="check the files alone, without a server")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="1 when anything would change")] = False,
) -> int:
    """Say what would change and where it would run. 6 when a job cannot be placed now."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    manifests = load(files, recursive=recursive)
    items = _offline(manifests) if offline else planned(session, manifests)
    if form:
        (emit_json if form == "json" else emit_yaml)({"items": items})
    else:
        _print(items)
    if any(not _placed(one) for item in items for one in item.get("placements") or ()):
        return NO_PLACE
    changed = any(item.get("outcome") in ("created", "configured") for item in items)
    if not form and not offline:
        say(
            "Next: rmctl apply " + " ".join(f"-f {safe(name)}" for name in files)
            if changed
            else "Nothing would change."
        )
    return FOUND_DIFFERENCES if exit_code and changed else 0


def planned(session: Session, manifests: Sequence[Manifest]) -> list[Item]:
    return posted(session, paths.PLAN, {"fieldManager": MANAGER}, manifests)


def _offline(manifests: Sequence[Manifest]) -> list[Item]:
    from cli.offline import check

    return check(manifests)


def _print(items: Sequence[Item]) -> None:
    words = {"created": "would be created", "configured": "would change", "unchanged": "would not change"}
    for item in items:
        name = shown(str(item.get("kind")), str(item.get("name")))
        out(safe(f"{name} {words.get(str(item.get('outcome')), 'is valid')}"))
        if item.get("restarts"):
            out(safe(f"restarts: {', '.join(map(str, item['restarts']))}"))
        out_lines(f"  {line}" for line in lines([_cells(one) for one in item.get("placements") or ()]))


def _cells(placement: Item) -> tuple[str, str, str]:
    name = str(placement.get("job", ""))
    job = name if name.startswith("job/") else shown("job", name)
    tier = f"tier {placement['tier']}" if placement.get("tier") else ""
    if placement.get("node"):
        return (job, f"→ {placement['node']}", tier or str(placement.get("sentence") or ""))
    return (job, "→ a new machine" if _placed(placement) else "waits", str(placement.get("sentence") or tier))


def _placed(placement: Item) -> bool:
    """A node, or a tier that would launch one."""
    return bool(placement.get("node") or placement.get("tier") or placement.get("answer") in ("Placed", "Provision"))
