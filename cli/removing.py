"""`delete --force`: the record goes at once, and what may be left of it in the world is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli import paths
from cli.output import emit_json, emit_yaml
from cli.session import Session
from cli.tables import lines
from cli.targets import Target
from cli.terminal import out, out_lines, say


def remove_by_force(session: Session, targets: Sequence[Target], uid: str, reason: str, form: str) -> int:
    """Raises the first refusal; what was removed before it stays removed, and is printed."""
    answers = []
    for target in targets:
        path = f"{paths.item(target, target.project or session.project)}/removal"
        body = {"reason": reason, **({"uid": uid} if uid else {})}
        answer = session.client.send("POST", path, body)
        answers.append(answer)
        if not form:
            out(f"{target} removed by force")
            out_lines(f"  {line}" for line in lines([_cells(one) for one in answer.get("left") or ()]))
        elif form == "name":
            out(str(target))
    if form in ("json", "yaml"):
        (emit_json if form == "json" else emit_yaml)({"items": answers})
    elif not form and any(answer.get("left") for answer in answers):
        say("What is listed may still be there. Next: rmctl audit capacity")
    return 0


def _cells(left: dict[str, Any]) -> tuple[str, ...]:
    if "effect" in left:
        return (str(left.get("of")), f"{left.get('kind')} {left.get('state')}", str(left.get("target") or "-"))
    return (str(left.get("of")), f"instance {left.get('instance')}, pid {left.get('pid')}", str(left.get("node")))
