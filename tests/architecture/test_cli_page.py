"""The page of the command line is what the verbs say of themselves."""

from __future__ import annotations

import runpy

from cli.verbs import ALIASES, GROUPS
from tests.architecture.tree import ROOT


def test_the_page_of_the_command_line_is_up_to_date() -> None:
    written = runpy.run_path(str(ROOT / "docs" / "cli_reference.py"))["page"]()
    told = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert told == written, "python docs/cli_reference.py writes it"


def test_every_verb_of_the_contract_has_a_place() -> None:
    known = {name for group in (*GROUPS.values(), ALIASES) for name in group}
    wanted = (
        "apply get describe why plan wait delete logs exec events top start stop restart cordon uncordon node pause"
        " resume reconcile effects audit backup restore doctor repair diff edit patch label annotate explain"
        " api-resources schema demo server agent init secret completion version validate place queue metrics reserve"
    )
    assert set(wanted.split()) <= known
