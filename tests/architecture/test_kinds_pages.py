"""The pages of the kinds have the tables that the models give, and the pages' commands are found."""

from __future__ import annotations

import runpy

import pytest

from resources.registry import KINDS
from tests.architecture.tree import ROOT

REFERENCE = runpy.run_path(str(ROOT / "docs" / "kinds_reference.py"))
COMMANDS = runpy.run_path(str(ROOT / "docs" / "page_commands.py"))
PAGE = """\
<!-- file: a.yaml -->

    a:
      b: 1

<!-- more: a.yaml -->

      c: 2

<!-- run -->

    rmctl get pools     # all

    rmctl get nodes

Words.

<!-- run: exit 3 -->

    rmctl get node/x

    rmctl not run
"""


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_the_tables_of_a_kind_are_up_to_date(kind: str) -> None:
    path = ROOT / "docs" / "kinds" / f"{kind}.md"
    assert path.exists(), "python docs/kinds_reference.py begins it"
    told = path.read_text(encoding="utf-8")
    assert told == REFERENCE["page"](kind, told), "python docs/kinds_reference.py writes it"
    assert "## Conditions" in told


def test_blocks_of_a_page_are_found_with_what_becomes_of_them() -> None:
    assert [tuple(block) for block in COMMANDS["blocks"](PAGE)] == [
        (1, "file", "a.yaml", "a:\n  b: 1\n"),
        (6, "more", "a.yaml", "  c: 2\n"),
        (10, "run", "", "rmctl get pools     # all\n\nrmctl get nodes\n"),
        (18, "run", "exit 3", "rmctl get node/x\n\nrmctl not run\n"),
    ]


def test_a_script_stops_at_what_does_not_end_as_the_page_says() -> None:
    written = COMMANDS["script"]("docs/x.md", "<!-- run: exit 6 -->\n\n    rmctl plan -f a.yaml\n\nWords.\n")
    assert written.startswith("set -eu -o pipefail\n")
    assert "at=docs/x.md:1\ngot=0; ( rmctl plan -f a.yaml ) || got=$?\n[ $got = 6 ]\n" in written
