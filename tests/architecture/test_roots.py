"""The names that this project takes in everybody's import space."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

import rmctl
from resources.version import VERSION
from tests.architecture.tree import PACKAGES, ROOT, project

HATCH = project()["tool"]["hatch"]["build"]["targets"]["wheel"]


def test_the_roots_are_these_and_no_others() -> None:
    """A new root is a decision; it is made here."""
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    assert found == set(PACKAGES)


def test_wheel_types_and_contracts_know_the_same_roots() -> None:
    tool = project()["tool"]
    assert [HATCH["packages"], tool["importlinter"]["root_packages"], tool["mypy"]["files"]] == [list(PACKAGES)] * 3


@pytest.mark.parametrize("root", PACKAGES)
def test_a_root_hides_nobody_elses_package(root: str) -> None:
    """Neither the standard library nor any locked distribution has a package of that name."""
    owners = {name.lower() for name in importlib.metadata.packages_distributions().get(root, [])}
    assert root not in sys.stdlib_module_names
    assert owners <= {"rmctl"}


def test_the_wheel_carries_the_migrations() -> None:
    assert HATCH["force-include"] == {"migrations": "store/migrations"}


def test_the_version_stands_in_one_place() -> None:
    assert (rmctl.__version__, project()["tool"]["hatch"]["version"]["path"]) == (VERSION, "resources/version.py")
