"""`get -w`: the table first, then a line for whatever changes, until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from cli.errors import UsageProblem
from cli.fetching import world
from cli.listing import header, row
from cli.output import emit_json, label
from cli.session import Session
from cli.tables import GAP
from cli.targets import Target
from cli.terminal import out, safe
from cli.views.wire import World, name, ready
from cli.watching import Change, Deadline, Topic, together

WIDTHS = (30, 7, 12, 4, 14)


def follow(
    session: Session, wanted: Sequence[Target], query: Mapping[str, str], form: str, *, problems: bool, headers: bool
) -> int:
    """Never returns by itself."""
    if form not in ("", "wide", "json", "name"):
        raise UsageProblem(f"-w goes with -o json, name or wide, not {form.partition('=')[0]}")
    names = {target.name for target in wanted if target.name}
    shown: dict[str, tuple[str, ...]] = {}
    if headers and not form.startswith(("json", "name")):
        _print_row(header())
    kinds = {target.kind.name: target.kind for target in wanted}
    around = world(session, kinds)
    for change in together(session, [Topic(kind, query) for kind in kinds.values()], Deadline(None)):
        if change.type == "SYNCED" or (names and name(change.document) not in names):
            continue
        if problems and ready(change.document).status == "True":
            continue
        _show(change, World(session.now(), around.pools), form, shown)
    return 0


def _show(change: Change, around: World, form: str, shown: dict[str, tuple[str, ...]]) -> None:
    title = label(change.document)
    if form == "json":
        emit_json(change.document, compact=True)
    elif form == "name":
        out(title)
    else:
        cells = row(change.document, around)
        if change.type == "DELETED":
            cells = (*cells[:1], "-", "Deleted", *cells[3:5], "")
        without_age = (*cells[:3], *cells[4:])
        if shown.get(title) == without_age:
            return
        shown[title] = without_age
        _print_row(cells)
    sys.stdout.flush()


def _print_row(cells: Sequence[str]) -> None:
    """Columns as wide as is usual: what comes later is not known yet."""
    padded = [safe(cell).ljust(width) for cell, width in zip(cells, WIDTHS, strict=False)]
    out(GAP.join([*padded, *map(safe, cells[len(WIDTHS) :])]).rstrip())
    sys.stdout.flush()
