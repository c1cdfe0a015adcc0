"""`rmctl describe`: everything on record about one resource, the sentence first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli import paths
from cli.durations import age, span
from cli.fetching import every, one, world
from cli.happenings import event_lines, events_of
from cli.kinds import BUNDLE, JOB, KINDS
from cli.output import emit
from cli.records import effect_cells, run_cells
from cli.session import Session
from cli.tables import grid, lines
from cli.targets import Target, named
from cli.terminal import out, out_lines, safe
from cli.views import finalizers
from cli.views.registry import line_one, view
from cli.views.wire import Document, World, conditions, metadata, ready, spec, status, title
from resources.event import CHRONICLE

MOST_EVENTS = 20
MOST_EFFECTS = 10


def describe(
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="KIND NAME", help="KIND NAME or KIND/NAME")],
    effective: Annotated[
        bool, typer.Option("--effective", help="the spec, its defaults, and where each comes from")
    ] = False,
) -> int:
    """Print conditions, effects, owner, children and events of a resource."""
    session: Session = context.obj
    form = session.output("json", "yaml")
    for number, target in enumerate(named(what, session.kind)):
        document = one(session, target)
        if form:
            emit(_whole(session, target, document), form)
            continue
        if number:
            out()
        _print(session, target, document, effective=effective)
    return 0


def _whole(session: Session, target: Target, document: Document) -> dict[str, Any]:
    """The object with its effects, children and events, for programs."""
    children = [title(child) for child in _children(session, document)]
    runs = _runs(session, document)
    found = {
        "effects": _effects(session, document),
        **({"runs": runs} if runs else {}),
        "events": events_of(session, target, MOST_EVENTS),
    }
    return {**document, **found, **({"children": children} if children else {})}


def _children(session: Session, document: Document) -> list[Document]:
    """What this resource made; of the kinds there are, bundles make jobs."""
    if document.get("kind") != BUNDLE.name:
        return []
    name, project = str(metadata(document).get("name")), str(metadata(document).get("namespace") or session.project)
    found = every(session, JOB, {"labelSelector": f"rmctl/bundle={name}"}, project).items
    return [child for child in found if spec(child).get("bundle") == name]


def _effects(session: Session, document: Document) -> list[dict[str, Any]]:
    uid = str(metadata(document).get("uid", ""))
    found: list[dict[str, Any]] = session.client.get(paths.EFFECTS, {"uid": uid}).get("items", []) if uid else []
    return found


def _runs(session: Session, document: Document) -> list[dict[str, Any]]:
    """Of a kind that a file defines; no other asks for any."""
    uid = str(metadata(document).get("uid", ""))
    if not uid or document.get("kind") in {kind.name for kind in KINDS}:
        return []
    found: list[dict[str, Any]] = session.client.get(paths.RUNS, {"uid": uid}).get("items", [])
    return found


def _print(session: Session, target: Target, document: Document, *, effective: bool) -> None:
    around = world(session, {target.kind.name})
    out(safe(line_one(document, around)))
    out()
    out_lines(grid(view(document).facts(document, around)))
    _section("Labels", [f"{key}={value}" for key, value in sorted((metadata(document).get("labels") or {}).items())])
    _section("Conditions", lines(_condition_cells(document, around)), safe_already=True)
    _section(
        "Effects",
        lines([effect_cells(one, around) for one in _effects(session, document)[:MOST_EFFECTS]]),
        safe_already=True,
    )
    _section("Runs", lines([run_cells(one, around) for one in _runs(session, document)]), safe_already=True)
    owner = next(iter(metadata(document).get("ownerReferences") or ()), None)
    if owner:
        out(safe(f"Owner       {owner.get('kind')}/{owner.get('name')}"))
    held = finalizers.rows(document, around)
    _section("Waits for", lines(held), safe_already=True)
    if not held:
        _section("Children", lines([_child_cells(child) for child in _children(session, document)]), safe_already=True)
    if metadata(document).get("finalizers") and not held:
        out(safe(f"Finalizers  {', '.join(metadata(document)['finalizers'])}"))
    told = [event for event in events_of(session, target, 2 * MOST_EVENTS) if event.get("type") not in CHRONICLE]
    _section("Events (newest first)", event_lines(told[:MOST_EVENTS], around), safe_already=True)
    if effective:
        from cli.effective import effective_lines

        _section("Spec (with defaults and sources)", effective_lines(session, document), safe_already=True)
    out(safe(f"Next: {_next(document)}"))


def _section(heading: str, found: list[str], *, safe_already: bool = False) -> None:
    if found:
        out(heading)
        out_lines(f"  {line if safe_already else safe(line)}" for line in found)


def _child_cells(child: Document) -> tuple[str, ...]:
    state = ready(child)
    return (title(child), state.status, state.reason, state.message)


def _condition_cells(document: Document, around: World) -> list[tuple[str, ...]]:
    cells = []
    for found in conditions(document):
        since = around.since(found.get("lastTransitionTime"))
        held = "-" if since is None else span(since) if since < 86400 else age(since)
        words = (str(found.get(key) or "") for key in ("type", "status", "reason"))
        cells.append((*words, held, str(found.get("message") or "")))
    return cells


def _next(document: Document) -> str:
    name, state = title(document), ready(document)
    going = finalizers.next_step(document)
    if going:
        return going
    if document.get("kind") == "job":
        short = name.removeprefix("job/")
        if status(document).get("lastExit") and state.status != "True":
            return f"rmctl logs {short} --previous"
        if state.reason == "Dormant":
            return f"rmctl start {short}"
        if status(document).get("pid") and state.status == "True":
            return f"rmctl logs {short} -f"
    if document.get("kind") == "node" and spec(document).get("cordoned"):
        return f"rmctl uncordon {name.removeprefix('node/')}"
    return f"rmctl why {name}"
