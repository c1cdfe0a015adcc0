"""Writes the tables of docs/kinds from the models: `python docs/kinds_reference.py` after a kind has changed."""

from __future__ import annotations

import re
from pathlib import Path

from cli.explain import opened, rows_of
from cli.models import built_in
from resources.registry import KINDS

FOLDER = Path(__file__).resolve().parent / "kinds"
TABLE = re.compile(r"<!-- (spec|status) -->\n.*?<!-- end -->\n", re.DOTALL)
COMMON = ("observedGeneration", "conditions")
SKELETON = "# {name}\n\n## Spec\n\n<!-- spec -->\n<!-- end -->\n\n## Status\n\n<!-- status -->\n<!-- end -->\n"


def page(kind: str, told: str) -> str:
    """The page with its tables as the models are now."""
    return TABLE.sub(lambda found: f"<!-- {found[1]} -->\n{table(kind, found[1])}<!-- end -->\n", told)


def table(kind: str, part: str) -> str:
    found = built_in()
    inner, _ = opened(found, found.resolved((found.of(kind).get("properties") or {})[part]))
    rows = [row for row in rows_of(found, inner, "", recursive=True) if row[0].partition("[")[0] not in COMMON]
    if not rows:
        return "\nNone of its own.\n\n"
    lines = [f"| `{name}` | {_escaped(type_)} | {_escaped(notes)} |\n" for name, type_, notes in rows]
    return "\n| field | type | default, bounds |\n|---|---|---|\n" + "".join(lines) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("[", "\\[").replace("*", "\\*").replace("<", "\\<")


def write() -> None:
    for kind in KINDS:
        path = FOLDER / f"{kind.name}.md"
        told = path.read_text(encoding="utf-8") if path.exists() else SKELETON.format(name=kind.name)
        path.write_text(page(kind.name, told), encoding="utf-8")


if __name__ == "__main__":
    write()
