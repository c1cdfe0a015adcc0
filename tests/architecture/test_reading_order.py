"""The ways to read that the architecture page shows: every name on them is defined where it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.tree import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WAYS = re.findall(r"```text\n((?:store|cli|api|controllers)/.*?)```", PAGE, re.DOTALL)


def steps(way: str) -> list[tuple[str, str]]:
    """(file, name) of each line; a line without a file goes on in the one above."""
    found: list[tuple[str, str]] = []
    for line in way.splitlines():
        file, name = line[:32].strip() or found[-1][0], line[33:].split()[0]
        found.append((file, name))
    return found


def defined(path: Path) -> set[str]:
    """Functions by their name, methods also behind their class's."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = {node.name for node in ast.walk(tree) if isinstance(node, functions)}
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        names |= {f"{owner.name}.{node.name}" for node in owner.body if isinstance(node, functions)}
    return names


def test_every_step_of_every_way_is_where_the_page_says() -> None:
    assert len(WAYS) == 3
    wrong = [step for way in WAYS for step in steps(way) if step[1] not in defined(ROOT / step[0])]
    assert wrong == []
