"""The picture of a traced decision, and the table beside it, say what the placer says."""

from __future__ import annotations

import runpy

import pytest

from placement.filters import FILTERS
from tests.architecture.tree import ROOT

MADE = runpy.run_path(str(ROOT / "docs" / "placement_picture.py"))


@pytest.mark.req("F153")
def test_picture_and_page_are_as_the_placer_tells_it():
    page = MADE["PAGE"].read_text(encoding="utf-8")
    assert MADE["PICTURE"].read_text(encoding="utf-8") == MADE["picture"](), "python docs/placement_picture.py"
    assert MADE["page"](page) == page, "python docs/placement_picture.py"


def test_every_fact_of_the_table_stands_in_the_picture():
    drawn = MADE["picture"]()
    assert [row.verdict for row in MADE["rows"]()].count("chosen") == 1
    assert all(row.node in drawn and row.evidence in drawn for row in MADE["rows"]())


def test_the_steps_are_the_filters_in_their_order():
    steps = [step.removesuffix(" (devices)") for step in MADE["STEPS"]]
    assert steps == [name for name, _ in FILTERS if name != "pool"]
