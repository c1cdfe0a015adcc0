"""The listed defects still fit the code they change."""

from __future__ import annotations

import pytest

from tests.architecture.tree import ROOT
from tests.mutants import Mutant, edited, listed


@pytest.mark.parametrize("mutant", listed(), ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_and_names_tests_that_exist(mutant: Mutant) -> None:
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert edited(source, mutant) != source
    assert [test for test in mutant.suite if not (ROOT / test.partition("::")[0]).exists()] == []


def test_mutants_have_names_of_their_own() -> None:
    names = [mutant.name for mutant in listed()]
    assert len(set(names)) == len(names)
