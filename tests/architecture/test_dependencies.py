"""What is imported is declared, and what is declared is locked."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys

import pytest

from tests.architecture.tree import PACKAGES, ROOT, modules, parsed, project, shown

LOCKS = ("requirements.lock", "requirements-dev.lock")
REQUIREMENT = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)(?: ; (.+?))? \\$")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    return {plain(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in requirements}


def locked(lock: str) -> dict[str, set[str]]:
    """name -> the versions that the lock holds, one a line, each for its own Python."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / lock).read_text(encoding="utf-8").splitlines():
        if match := REQUIREMENT.match(line):
            found.setdefault(match[1], set()).add(match[2])
    return found


def imported() -> dict[str, str]:
    """Top-level name of what the product imports from elsewhere -> a module that does."""
    found: dict[str, str] = {}
    for path in modules(*PACKAGES):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0]: shown(path) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found[node.module.split(".")[0]] = shown(path)
    ours = set(PACKAGES) | set(sys.stdlib_module_names)
    return {name: where for name, where in found.items() if name not in ours}


def test_every_import_of_the_product_is_declared() -> None:
    """By the core or by an extra; a dependency of a dependency may leave without notice."""
    told = project()["project"]
    declared = names(told["dependencies"]).union(*map(names, told["optional-dependencies"].values()))
    owners = importlib.metadata.packages_distributions()
    undeclared = {
        name: where
        for name, where in imported().items()
        if declared.isdisjoint({plain(owner) for owner in owners.get(name, [name])})
    }
    assert undeclared == {}


def test_the_core_lock_holds_every_core_dependency_the_builder_and_what_the_demo_shows() -> None:
    told = project()["project"]
    wanted = names(told["dependencies"]) | names(told["optional-dependencies"]["github"]) | {"hatchling"}
    assert wanted <= set(locked("requirements.lock"))


def test_the_dev_lock_adds_and_changes_nothing() -> None:
    """An environment for the tests serves the demo too."""
    core, dev = locked("requirements.lock"), locked("requirements-dev.lock")
    assert {name: dev.get(name) for name in core} == core


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_line_has_a_version_and_a_hash(lock: str) -> None:
    """Nothing else stands in a lock: no address, no path, no option."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = re.split(r"\n(?! )", text.strip())
    hashes = re.compile(r"(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n?)+")
    odd = []
    for entry in entries:
        first, _, rest = entry.partition("\n")
        if not REQUIREMENT.match(first) or not hashes.fullmatch(rest):
            odd.append(first)
    assert odd == []
