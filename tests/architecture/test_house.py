"""The promises of the root files: two commands, one truth for CI, pages that are linked."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, files, shown

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_names_the_two_commands() -> None:
    assert {"./dev demo", "./dev test"} <= set(re.findall(r"`(\./dev \w+)`", text("README.md")))


def test_ci_runs_what_the_readme_says() -> None:
    script = text(".ci/run")
    assert re.findall(r"^ *(\./dev \w+)", script, re.MULTILINE) == [
        "./dev check",
        "./dev test",
        "./dev docs",
        "./dev sim",
    ]


@pytest.mark.parametrize("script", ["dev", ".ci/run"])
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["--help"]])
def test_an_unknown_verb_gets_the_usage(arguments: list[str]) -> None:
    """Before anything is installed, and every verb is in it."""
    ran = subprocess.run([str(ROOT / "dev"), *arguments], capture_output=True, text=True, check=False)
    told = re.findall(r"^  (\w+)", ran.stderr, re.MULTILINE)
    every = "bench check crash defects demo docs golden mutants night rmctl sim test".split()
    assert (ran.returncode, ran.stdout, sorted(told)) == (64, "", every)


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = text("docs/index.md")
    pages = [str(page.relative_to(ROOT / "docs").with_suffix("")) for page in PAGES if "docs" in page.parts]
    listed = [*re.findall(r"^([\w/*-]+)$", contents, re.MULTILINE), "index"]
    assert [page for page in pages if not any(fnmatch.fnmatch(page, pattern) for pattern in listed)] == []


def test_a_decision_fits_on_a_page() -> None:
    long = {shown(page): n for page in ROOT.glob("docs/adr/*.md") if (n := len(text(shown(page)).splitlines())) > 60}
    assert long == {}


def test_what_does_not_apply_says_why() -> None:
    """Lines of the form `F427: reason`, each id once."""
    entries = re.findall(r"^([A-Z]{1,2}\d+(?:-[A-Z]*\d+)?): (.*)$", text("docs/not-applicable.md"), re.MULTILINE)
    assert len({ident for ident, _ in entries}) == len(entries)
    assert all(len(reason.split()) >= 4 for _, reason in entries)


def test_the_tree_names_no_registry_and_no_machine() -> None:
    """Neither the host of a package registry nor where somebody's checkout lies."""
    hosts = re.compile(r"(?:pypi|pythonhosted|npmjs|debian)\.(?:org|com|net)", re.IGNORECASE)
    places = [f"{place}/" for place in (ROOT, Path.home()) if len(place.parts) > 1]
    guilty = set()
    for path in files():
        content = path.read_bytes().decode("utf-8", errors="replace")
        if hosts.search(content) or any(place in content for place in places):
            guilty.add(shown(path))
    assert guilty == set()
