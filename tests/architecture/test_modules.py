"""How a module looks before one reads what it does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGES, modules, parsed, shown

MAX_LINES = 300
PRODUCT = modules(*PACKAGES)
EVERY = PRODUCT + modules("migrations", "tests")


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("path", EVERY, ids=shown)
def test_a_module_opens_with_one_sentence(path: Path) -> None:
    """The first line says what the module is, and ends there."""
    opening = (ast.get_docstring(parsed(path)) or "").split("\n\n")[0].replace("\n", " ")
    assert opening.endswith((".", "?"))
    assert not re.search(r"[.?!] [A-Z]", opening)


def test_no_module_is_longer_than_a_reader_is_patient() -> None:
    """A file that is too long has two names."""
    assert {shown(path): lines(path) for path in PRODUCT if lines(path) > MAX_LINES} == {}


def test_imports_are_absolute() -> None:
    relative = {
        shown(path)
        for path in EVERY
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    }
    assert relative == set()
