"""Git worktrees with a real git: what is seen, made and removed, and what nobody is asked or told."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from controllers.providers.git_worktrees import (
    Login,
    beside,
    clone_problem,
    make,
    observe,
    observe_removal,
    remove,
)
from resources.effect import Absent, Applied, Rejected
from tests.git_site import PAGE, Site, git

REF = "refs/pull/12/head"
WRAPPER = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word" >> '{log}'; done
[ -e '{refuse}' ] && [ "$3 $4" = "worktree remove" ] && {{ echo "it is in use" >&2; exit 1; }}
PATH='{path}' exec git "$@"
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def path(site: Site) -> str:
    return beside(str(site.clone), "one")


@pytest.fixture
def wrapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git that writes down what it is called with; it refuses to remove while there is a file `refuse` beside."""
    folder = tmp_path / "bin"
    folder.mkdir()
    words = {"log": folder / "log", "refuse": folder / "refuse", "path": os.environ["PATH"]}
    (folder / "git").write_text(WRAPPER.format(**words))
    (folder / "git").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_it_is_there_when_it_stands_at_the_commit_whole_and_unchanged(site: Site, path: str) -> None:
    clone, first, second = str(site.clone), site.push(12, "first"), site.push(12, "second")
    assert observe(clone, path, first) == Absent()
    assert make(clone, path, first, ref=REF) == Applied(path)
    assert (observe(clone, path, first), observe(clone, path, second)) == (Applied(path), Absent())
    (Path(path) / "litter").write_text("x")
    assert observe(clone, path, first) == Absent()
    assert make(clone, path, second, ref=REF) == Applied(path)
    assert (Path(path) / PAGE).read_text() == "second"
    (Path(path) / PAGE).unlink()
    assert observe(clone, path, second) == Absent()


@pytest.mark.parametrize("other", ["a clone", "a folder in a clone", "a folder"])
def test_what_lies_there_and_is_none_of_the_clones_is_none(site: Site, path: str, other: str) -> None:
    head = site.push(12, "first")
    make(str(site.clone), path, head, ref=REF)
    remove(str(site.clone), path)
    Path(path).parent.mkdir()
    if other == "a clone":
        git(site.clone, "clone", "--quiet", str(site.origin), path)
        git(Path(path), "fetch", "--quiet", "origin", REF)
        git(Path(path), "checkout", "--quiet", "--detach", head)
    elif other == "a folder in a clone":
        git(Path(path).parent, "init", "--quiet")
        Path(path).mkdir()
    else:
        Path(path).mkdir()
    assert observe(str(site.clone), path, head) == Absent()
    assert make(str(site.clone), path, head, ref=REF) == Applied(path)
    assert site.worktrees == [Path(path)]


def test_a_commit_that_is_there_is_not_fetched_and_one_that_nobody_has_is_said(site: Site, path: str) -> None:
    head, clone = site.push(12, "first"), str(site.clone)
    assert make(clone, path, head, ref=REF) == Applied(path)
    site.origin.rename(site.origin.with_name("away.git"))
    assert make(clone, path, head, ref=REF) == Applied(path)
    site.origin.with_name("away.git").rename(site.origin)
    told = make(clone, path, "0" * 40, ref=REF)
    assert told == Rejected(f"origin has no commit {'0' * 40} behind {REF}", "NoCommit")


def test_the_clone_itself_stays_as_it_is(site: Site, path: str) -> None:
    """Its configuration, its branches, what is checked out, and what was fetched last."""

    def shown() -> list[str]:
        return [
            (site.clone / ".git" / "config").read_text(),
            git(site.clone, "for-each-ref"),
            git(site.clone, "status", "--porcelain", "--branch"),
            str((site.clone / ".git" / "FETCH_HEAD").exists()),
        ]

    before = shown()
    assert make(str(site.clone), path, site.push(12, "first"), ref=REF) == Applied(path)
    assert shown() == before


@pytest.mark.parametrize("left", ["all", "no folder", "no link", "a link elsewhere", "locked", "nothing"])
def test_whatever_is_left_of_it_is_removed(site: Site, path: str, tmp_path: Path, left: str) -> None:
    clone = str(site.clone)
    make(clone, path, site.push(12, "first"), ref=REF)
    elsewhere = tmp_path / "elsewhere"
    match left:
        case "no folder":
            Path(path).rename(elsewhere)
        case "a link elsewhere":
            Path(path).rename(elsewhere)
            Path(path).symlink_to(elsewhere)
        case "no link":
            (Path(path) / ".git").unlink()
        case "locked":
            git(site.clone, "worktree", "lock", path)
        case "nothing":
            remove(clone, path)
    assert observe_removal(clone, path) == (Applied(path) if left == "nothing" else Absent())
    assert (remove(clone, path), observe_removal(clone, path)) == (Applied(path), Applied(path))
    assert (site.worktrees, Path(path).parent.exists()) == ([], False)
    assert elsewhere.exists() == ("where" in left or left == "no folder")


def test_what_git_will_not_remove_is_told(site: Site, path: str, wrapped: Path) -> None:
    clone = str(site.clone)
    make(clone, path, site.push(12, "first"), ref=REF)
    (wrapped / "refuse").touch()
    assert remove(clone, path) == Rejected("git worktree remove: it is in use", "CannotRemove")
    assert observe_removal(clone, path) == Absent()
    (wrapped / "refuse").unlink()
    assert remove(clone, path) == Applied(path)


def test_hooks_of_the_clone_are_not_run(site: Site, path: str, tmp_path: Path) -> None:
    hook = site.clone / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(stat.S_IRWXU)
    assert make(str(site.clone), path, site.push(12, "first"), ref=REF) == Applied(path)
    assert not (tmp_path / "ran").exists()


def test_variables_that_lead_git_elsewhere_do_not(
    site: Site, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = site.push(12, "first")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert make(str(site.clone), path, head, ref=REF) == Applied(path)


@pytest.mark.req("T57")
def test_a_token_is_in_no_argument_and_in_no_file(site: Site, path: str, wrapped: Path) -> None:
    login = Login("https://forge.example", "sentinel-credential")
    assert make(str(site.clone), path, site.push(12, "first"), ref=REF, login=login) == Applied(path)
    assert "worktree\nadd\n" in (wrapped / "log").read_text()
    told = [(wrapped / "log").read_text(), (site.clone / ".git" / "config").read_text()]
    encoded = "eC1hY2Nlc3MtdG9rZW46"  # how what git sends begins
    assert not any(word in text for text in told for word in ("sentinel", encoded, "extraHeader"))


def test_what_git_says_at_length_is_cut_and_names_no_user(site: Site, path: str) -> None:
    git(site.clone, "remote", "set-url", "origin", f"http://ada:sentinel@127.0.0.1:1/{'x' * 5000}")
    told = make(str(site.clone), path, site.push(12, "first"), ref=REF)
    assert isinstance(told, Rejected)
    assert (told.code, "sentinel" in told.error, len(told.error) < 800) == ("CannotFetch", False, True)


def test_a_machine_without_git_says_so(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert clone_problem(str(site.clone)) == "git cannot be started: No such file or directory"
