"""`rmctl get`: one line each, or whole documents for programs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.errors import UsageProblem
from cli.fetching import Listed, every, finished, one, served_kinds, world
from cli.kinds import EVERYTHING, KindName
from cli.listing import advice, header, rows, table
from cli.output import FORMATS, emit, listed
from cli.session import Session
from cli.targets import Target, targets
from cli.terminal import on_terminal, out_lines, say
from cli.views.wire import Document, ready

EVENTS = ("events", "event", "ev")
MISSING = (2, 0.0, "")
"""Where what has not what it is sorted by comes: last."""
RECORDS = ("effects", "effect", "queue", "runs", "run")


def get(
    context: typer.Context,
    what: Annotated[
        list[str], typer.Argument(metavar="KIND [NAME]...", help="KIND[,KIND] [NAME]..., KIND/NAME or resources")
    ],
    selector: Annotated[str, typer.Option("-l", "--selector", help="labels, as kubectl writes them")] = "",
    fields: Annotated[str, typer.Option("--field-selector", help="metadata.name=NAME or metadata.key=KEY")] = "",
    watch: Annotated[bool, typer.Option("-w", "--watch", help="print again whatever changes, until Ctrl-C")] = False,
    problems: Annotated[bool, typer.Option("--problems", help="only what is not ready")] = False,
    everything: Annotated[bool, typer.Option("--all", help="finished drains and migrations too")] = False,
    sort_by: Annotated[str, typer.Option(metavar="PATH", help="such as .metadata.creationTimestamp")] = "",
    no_headers: Annotated[bool, typer.Option("--no-headers")] = False,
) -> int:
    """List resources: NAME, READY, REASON, AGE, WHERE, DETAIL.

    A name can be pasted into every other verb.
    """
    session: Session = context.obj
    form = session.output("wide", *FORMATS)
    if what[0].lower() in EVENTS:
        raise UsageProblem("events have a verb of their own", hint=f"rmctl events {' '.join(what[1:])}".rstrip())
    if what[0].lower() in RECORDS:
        from cli.records import show_records

        return show_records(session, what, form)
    wanted = _wanted(session, what)
    query = {name: text for name, text in (("labelSelector", selector), ("fieldSelector", fields)) if text}
    if query and any(target.name for target in wanted):
        raise UsageProblem("a selector and a name do not go together")
    if watch:
        from cli.following import follow

        return follow(session, wanted, query, form, problems=problems, headers=not no_headers)
    found, revision = _fetched(session, wanted, query)
    if not any(target.name for target in wanted) and not everything:
        found = [item for item in found if not finished(item)]
    if problems:
        found = [item for item in found if ready(item).status != "True"]
    if sort_by:
        found = _sorted(found, sort_by)
    if form and form != "wide":
        single = len(wanted) == 1 and bool(wanted[0].name)
        emit(found[0] if single and found else listed(found, revision=revision), form)
        return 0
    _print(session, found, wanted, wide=form == "wide", headers=not no_headers, problems=problems)
    return 0


def _wanted(session: Session, what: list[str]) -> list[Target]:
    if what[0].lower() in EVERYTHING:
        if len(what) > 1:
            raise UsageProblem(f"{what[0]}: takes no names; write KIND NAME or KIND/NAME")
        return [Target(kind) for kind in served_kinds(session)]
    return targets(what, session.kind)


def _fetched(session: Session, wanted: list[Target], query: dict[str, str]) -> tuple[list[Document], str]:
    found: list[Document] = []
    revision = ""
    for target in wanted:
        answer = Listed([one(session, target)], "") if target.name else every(session, target.kind, query)
        found += answer.items if target.name else sorted(answer.items, key=lambda item: str(item["metadata"]["name"]))
        revision = answer.revision or revision
    return found, revision


def _sorted(found: list[Document], path: str) -> list[Document]:
    from cli.jsonpath import values

    def key(item: Document) -> tuple[int, float, str]:
        at = next(iter(values(path.strip("{}"), item)), None)
        if isinstance(at, int | float):
            return (0, float(at), "")
        return (1, 0.0, str(at)) if at is not None else MISSING

    if found and all(key(item) == MISSING for item in found):
        raise UsageProblem(f'--sort-by "{path}": none of these has it', hint="such as .metadata.creationTimestamp")
    return sorted(found, key=key)


def _print(
    session: Session, found: list[Document], wanted: list[Target], *, wide: bool, headers: bool, problems: bool
) -> None:
    if not found:
        say(_nothing(session, [target.kind for target in wanted], problems=problems))
        return
    around = world(session, {str(item.get("kind")) for item in found}, found)
    cells = rows(found, around, wide=wide)
    out_lines(table([header(wide=wide), *cells] if headers else cells))
    if on_terminal():
        text = advice(found)
        if text:
            say(text)


def _nothing(session: Session, kinds: list[KindName], *, problems: bool) -> str:
    names = ", ".join(kind.plural for kind in kinds) if len(kinds) < 4 else "resources"
    inside = f" in project {session.project}" if any(kind.namespaced for kind in kinds) else ""
    return f"no {names}{' with problems' if problems else ''}{inside}"
