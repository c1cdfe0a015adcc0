"""Tables for people: columns as wide as their widest cell, nothing cut, every cell safe to print."""

from __future__ import annotations

from collections.abc import Sequence

from cli.terminal import safe, tint

GAP = "  "
COLOURS = {"True": "32", "False": "31", "Unknown": "33"}


def lines(rows: Sequence[Sequence[str]], *, tinted: int | None = None, least: Sequence[int] = ()) -> list[str]:
    """One line a row; the last column is as long as it is. `tinted` is the column that a terminal shows in colour,
    `least` how wide the first columns are at least."""
    cells = [[safe(cell) for cell in row] for row in rows]
    if not cells:
        return []
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    widths[: len(least)] = [max(pair) for pair in zip(widths, least, strict=False)]
    return [GAP.join(_cells(row, widths, tinted)).rstrip() for row in cells]


def _cells(row: Sequence[str], widths: Sequence[int], tinted: int | None) -> list[str]:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
    if tinted is not None and row[tinted] in COLOURS:
        padded[tinted] = tint(padded[tinted], COLOURS[row[tinted]])
    return padded


def grid(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Label and text, two pairs a line: the layout of `describe`. An empty label leaves its half empty."""
    rows = [pairs[at : at + 2] for at in range(0, len(pairs), 2)]
    shown = [[(safe(label), safe(text)) for label, text in row] for row in rows]
    first = max((len(row[0][0]) for row in shown), default=0)
    left = max((len(row[0][1]) for row in shown if len(row) > 1 and row[1][0]), default=0)
    second = max((len(row[1][0]) for row in shown if len(row) > 1), default=0)
    out = []
    for row in shown:
        text = f"{row[0][0].ljust(first)}{GAP}{row[0][1].ljust(left)}"
        if len(row) > 1 and row[1][0]:
            text += f"{GAP}{row[1][0].ljust(second)}{GAP}{row[1][1]}"
        out.append(text.rstrip())
    return out
