"""The rules that machines check are the rules of the house."""

from __future__ import annotations

import fnmatch
import re

import pytest

from controllers.registry import CONTROLLERS
from resources.kind import Kind
from resources.registry import KINDS
from tests.architecture.tree import CORE, ROOT, contract, modules, project, shown

RUFF = project()["tool"]["ruff"]["lint"]
ENVIRONMENT = {"controllers/runtime/environment.py"}


def controllers() -> list[str]:
    """The modules of the kinds that have a controller."""
    return sorted(f"controllers.{kind.name.replace('-', '_')}" for kind in KINDS)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Kinds never import kinds", "modules"),
        ("Providers never import kinds", "forbidden_modules"),
        ("The runtime knows neither kinds nor providers", "forbidden_modules"),
    ],
)
def test_a_contract_knows_every_kind(name: str, field: str) -> None:
    assert set(controllers()) <= set(contract(name)[field])


def test_only_the_environment_reads_the_clock_in_the_core() -> None:
    """TID251 is lifted for the edges, the tests, and the environment itself."""
    lifted = [pattern for pattern, rules in RUFF["per-file-ignores"].items() if "TID251" in rules]
    core = [shown(path) for path in modules(*CORE)]
    assert {path for path in core for pattern in lifted if fnmatch.fnmatch(path, pattern)} <= ENVIRONMENT


@pytest.mark.parametrize(
    "name", ["time", "random.random", "random.choice", "secrets", "uuid.uuid4", "datetime.datetime.now"]
)
def test_clocks_and_draws_are_banned(name: str) -> None:
    assert name in RUFF["flake8-tidy-imports"]["banned-api"]


def test_no_rule_is_switched_off_without_a_word() -> None:
    """Every code in an ignore list has its reason on the line."""
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[tool.ruff.lint]")[1].split("\nignore = [")[1]
    ignores = lines.split("[tool.ruff.lint.flake8-tidy-imports]")[0].splitlines()
    bare = [line for line in ignores if line.strip().startswith('"') and not line.endswith("[") and "#" not in line]
    assert bare == []


def test_every_kind_has_a_controller_and_no_controller_is_without_a_kind() -> None:
    assert sorted(controller.kind for controller in CONTROLLERS) == sorted(kind.name for kind in KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_told_in_a_page(kind: Kind) -> None:
    pages = "\n".join(page.read_text(encoding="utf-8").lower() for page in (ROOT / "docs").glob("*.md"))
    assert re.search(rf"^#+ .*\b{kind.name}s?\b", pages, re.MULTILINE)
