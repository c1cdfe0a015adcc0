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
"""As wide as is usual: what comes later is not known yet."""


class Columns:
    """Rows under one header; the first table settles how wide the columns are."""

    def __init__(self, *, wide: bool, headers: bool) -> None:
        self._wide = wide
        self._headers = headers
        self._first: list[tuple[str, ...]] = []
        self._widths: list[int] | None = None

    def add(self, cells: tuple[str, ...]) -> None:
        if self._widths is None:
            self._first.append(cells)
        else:
            self._print(cells)

    def settle(self) -> None:
        """All lists are there: header and rows are printed, and what comes from now on at once."""
        if self._widths is not None:
            return
        head = header(wide=self._wide)
        least = WIDTHS + (0,) * (len(head) - len(WIDTHS))
        columns = zip(*(map(safe, cells) for cells in (head, *self._first)), strict=True)
        self._widths = [max(floor, *map(len, column)) for floor, column in zip(least, columns, strict=True)][:-1]
        for cells in (head, *self._first) if self._headers else self._first:
            self._print(cells)

    def _print(self, cells: tuple[str, ...]) -> None:
        assert self._widths is not None
        padded = [safe(cell).ljust(width) for cell, width in zip(cells, self._widths, strict=False)]
        out(GAP.join([*padded, safe(cells[-1])]).rstrip())
        sys.stdout.flush()


def follow(
    session: Session, wanted: Sequence[Target], query: Mapping[str, str], form: str, *, problems: bool, headers: bool
) -> int:
    """Never returns by itself."""
    if form not in ("", "wide", "json", "name"):
        raise UsageProblem(f"-w goes with -o json, name or wide, not {form.partition('=')[0]}")
    names = {target.name for target in wanted if target.name}
    kinds = {target.kind.name: target.kind for target in wanted}
    open_lists = set(kinds)
    shown: dict[str, tuple[str, ...]] = {}
    columns = Columns(wide=form == "wide", headers=headers)
    around = world(session, kinds)
    for change in together(session, [Topic(kind, query) for kind in kinds.values()], Deadline(None)):
        if change.type == "SYNCED":
            open_lists.discard(change.kind)
            if not open_lists and form in ("", "wide"):
                columns.settle()
            continue
        if names and name(change.document) not in names:
            continue
        if problems and ready(change.document).status == "True":
            continue
        if form in ("json", "name"):
            _told(change, form)
        else:
            _row(change, World(session.now(), around.pools), columns, shown, wide=form == "wide")
    return 0


def _told(change: Change, form: str) -> None:
    if form == "json":
        emit_json(change.document, compact=True)
    else:
        out(label(change.document))
    sys.stdout.flush()


def _row(change: Change, around: World, columns: Columns, shown: dict[str, tuple[str, ...]], *, wide: bool) -> None:
    """A line for what reads otherwise than the last one about the same resource; an age alone is no news."""
    title = label(change.document)
    cells = row(change.document, around, wide=wide)
    if change.type == "DELETED":
        cells = (*cells[:1], "-", "Deleted", *cells[3:-1], "")
    without_age = (*cells[:3], *cells[4:])
    if shown.get(title) != without_age:
        shown[title] = without_age
        columns.add(cells)
