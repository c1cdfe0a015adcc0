"""Small writes that verbs make, each under the field manager that a bundle's own apply keeps."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from cli import paths
from cli.client import MERGE
from cli.output import emit, listed
from cli.session import Session
from cli.targets import Target
from cli.terminal import out, say
from cli.views.wire import Document

MANAGER = "rmctl-verbs"
UNCHANGED = "unchanged"
"""What a server says of a write that changes nothing."""


def patch(session: Session, target: Target, spec: dict[str, Any]) -> Document:
    """The object after a merge patch of its spec. Raises ServerRefused."""
    return change(session, target, {"spec": spec})


def change(session: Session, target: Target, body: Document, *, dry_run: bool = False) -> Document:
    """The object after a merge patch. Raises ServerRefused."""
    query = {"fieldManager": MANAGER, **({"dryRun": "All"} if dry_run else {})}
    path = paths.item(target, target.project or session.project)
    return session.client.send("PATCH", path, body, query=query, content_type=MERGE)


def patch_all(session: Session, targets: list[Target], spec: dict[str, Any], done: str, advice: str = "") -> int:
    """Patches each, prints `KIND/NAME DONE`, and one line about what to do next."""
    form = session.output("json", "yaml", "name")
    found = [patch(session, target, spec) for target in targets]
    return told(form, targets, found, done, advice)


def told(
    form: str,
    targets: list[Target],
    found: list[Document],
    done: str,
    advice: str = "",
    *,
    same: Collection[Target] = (),
) -> int:
    """Prints what became of each, in the form that was asked for; of those that stay the `same`, just that."""
    if form:
        emit(found[0] if len(found) == 1 else listed(found), form)
        return 0
    for target in targets:
        out(f"{target} {'unchanged' if target in same else done}")
    if advice and len(same) < len(targets):
        say(f"Next: {advice.format(target=targets[0], name=str(targets[0]).partition('/')[2])}")
    return 0
