"""The worktree of a pull request, with a real git: made for each run, moved along, and gone in the end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controllers.providers.github import Checks
from rmctl.testing import Invalid, Trial
from tests.git_site import PAGE, Site, git
from tests.remembered_forge import KEY, SPEC, Remembered, a_trial

FINALIZER = "pull-request/worktree"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def forge() -> Remembered:
    return Remembered()


@pytest.fixture
def trial(forge: Remembered) -> Iterator[Trial]:
    with a_trial(forge) as made:
        yield made


class Story:
    """A pull request with a clone, of which a review is asked."""

    def __init__(self, trial: Trial, forge: Remembered, site: Site) -> None:
        self.trial, self.forge, self.site = trial, forge, site
        self.head = site.push(12, "first")
        forge.pull = replace(forge.pull, head_sha=self.head)

    def apply(self, **more: Any) -> None:
        spec = {**SPEC, "expectedHeadSha": self.head, "review": "read-it", "checkout": str(self.site.clone), **more}
        self.trial.apply(KEY, spec)
        self.trial.run()

    def push(self, text: str) -> None:
        self.head = self.site.push(12, text)
        self.forge.pull = replace(self.forge.pull, head_sha=self.head)

    @property
    def ready(self) -> str:
        return self.condition("Ready")

    def condition(self, type_: str) -> str:
        seen = self.trial.get(KEY)
        return "" if seen is None else seen.condition(type_)

    @property
    def words(self) -> str:
        seen = self.trial.get(KEY)
        assert seen is not None
        return next(one.message for one in seen.conditions if one.type == "Ready")

    @property
    def finalizers(self) -> tuple[str, ...]:
        seen = self.trial.get(KEY)
        return () if seen is None else seen.finalizers

    @property
    def folder(self) -> Path:
        """Of the run that was asked for last."""
        return Path(self.trial.runs(KEY)[-1].input["worktree"])

    @property
    def effects(self) -> list[tuple[str, str]]:
        """Kind and state, by kind."""
        return sorted((one.kind, one.state) for one in self.trial.effects(KEY))

    def end(self, *, approved: bool = True) -> None:
        self.trial.finish(KEY, self.trial.runs(KEY)[-1].key, {"approved": approved})
        self.trial.run()


@pytest.fixture
def story(trial: Trial, forge: Remembered, site: Site) -> Story:
    return Story(trial, forge, site)


def test_a_review_finds_the_head_in_a_worktree_which_is_gone_once_it_is_merged(story: Story, site: Site) -> None:
    story.apply()
    assert ((story.folder / PAGE).read_text(), git(story.folder, "rev-parse", "HEAD")) == ("first", story.head)
    assert (story.folder.parent, site.worktrees) == (site.clone.parent / "site.worktrees", [story.folder])
    assert story.finalizers == (FINALIZER,)
    story.end()
    assert (story.ready, story.condition("WorktreeRemoved")) == ("True/Merged", "True/Removed")
    assert (site.worktrees, story.folder.parent.exists(), story.finalizers) == ([], False, ())
    assert story.effects == [
        ("git-worktree", "applied"), ("git-worktree-removal", "applied"), ("github-merge", "applied"),
    ]  # fmt: skip
    assert story.trial.run_for(3600) == 0


def test_the_finalizer_is_there_before_the_worktree(story: Story, site: Site) -> None:
    story.trial.apply(KEY, {**SPEC, "expectedHeadSha": story.head, "review": "r", "checkout": str(site.clone)})
    while story.finalizers == ():
        assert (story.trial.run(passes=1), site.worktrees) == (1, [])
    story.trial.run()
    assert len(site.worktrees) == 1


def test_it_moves_along_to_a_new_head_whatever_was_left_in_it(story: Story, site: Site) -> None:
    story.apply()
    before = story.folder
    (before / PAGE).write_text("changed")
    (before / "litter").write_text("x")
    story.end(approved=False)
    story.push("second")
    story.apply()
    assert (story.folder, site.worktrees) == (before, [before])
    assert sorted(path.name for path in before.iterdir()) == [".git", PAGE]
    assert (before / PAGE).read_text() == "second"


def test_each_run_finds_it_as_the_head_is(story: Story, forge: Remembered) -> None:
    """A repair that changed files and failed leaves nothing to its successor, and nothing to a review."""
    forge.made = Checks(failed=("test",))
    story.apply(maxRepairs=5)
    for _ in range(2):
        assert (story.folder / PAGE).read_text() == "first"
        (story.folder / PAGE).write_text("half a repair")
        story.trial.fail(KEY, story.trial.runs(KEY)[-1].key, "no idea")
        story.trial.run_for(60)
    forge.made = Checks(passed=("test",))
    story.trial.fail(KEY, story.trial.runs(KEY)[-1].key, "no idea")
    story.trial.run_for(60)
    assert [one.workflow for one in story.trial.runs(KEY)] == [*["repair-pull-request"] * 3, "read-it"]
    assert (story.folder / PAGE).read_text() == "first"


def test_a_run_under_way_keeps_its_worktree_though_the_head_moves(story: Story, site: Site) -> None:
    story.apply()
    story.push("second")
    story.apply()
    story.trial.run_for(120)
    assert ((story.folder / PAGE).read_text(), len(story.trial.runs(KEY))) == ("first", 1)
    assert story.words.startswith("waits for the end of review:1:")
    story.end()
    assert ((story.folder / PAGE).read_text(), len(story.trial.runs(KEY))) == ("second", 2)


def test_somebody_elses_merge_waits_for_no_run_but_the_worktree_does(story: Story, forge: Remembered) -> None:
    story.apply()
    forge.pull = replace(forge.pull, merged=True, merge_sha="c" * 40)
    story.trial.run_for(60)
    assert (story.ready, story.condition("WorktreeRemoved")) == ("True/Merged", "False/InUse")
    assert story.folder.exists()
    story.end()
    assert (story.folder.exists(), story.finalizers) == (False, ())


@pytest.mark.req("T33", "T34")
@pytest.mark.parametrize("harm", ["none", "half"])
def test_one_that_was_made_and_not_noted_is_found_and_a_half_made_one_is_made_anew(
    story: Story, site: Site, harm: str
) -> None:
    with story.trial.crash_after(f"worktree:1:0:{story.head}:review:1:{story.head}"):
        story.apply()
    (folder,) = site.worktrees
    assert story.effects[0][1] != "applied"
    made = folder.stat().st_ino, (folder / PAGE).stat().st_mtime_ns
    if harm == "half":
        (folder / PAGE).unlink()
    story.trial.run_for(60)
    again = folder.stat().st_ino, (folder / PAGE).stat().st_mtime_ns
    assert (again == made, (folder / PAGE).read_text()) == (harm == "none", "first")
    assert (story.effects, len(story.trial.runs(KEY))) == ([("git-worktree", "applied")], 1)


@pytest.mark.req("T33")
def test_one_that_was_removed_and_not_noted_is_not_asked_for_twice(story: Story, site: Site) -> None:
    story.apply()
    with story.trial.crash_after("worktree-removal:1:0"):
        story.end()
    assert (site.worktrees, story.finalizers != ()) == ([], True)
    story.trial.run_for(60)
    assert (story.ready, story.finalizers, story.effects[1]) == (
        "True/Merged", (), ("git-worktree-removal", "applied"),
    )  # fmt: skip
    assert any(one.startswith("EffectRecovered: git-worktree-removal") for one in story.trial.events(KEY))


@pytest.mark.parametrize("harm", ["none", "missing", "dirty", "no longer one", "a file"])
def test_a_deletion_takes_it_along(story: Story, site: Site, harm: str) -> None:
    story.apply()
    folder = story.folder
    if harm != "none":
        (folder / "litter").write_text("x")
    if harm in ("missing", "a file"):
        shutil.rmtree(folder)
    if harm == "a file":
        folder.write_text("x")
    if harm == "no longer one":
        (folder / ".git").unlink()
    story.trial.delete(KEY)
    story.trial.run_for(60)
    assert story.trial.get(KEY) is None
    assert (site.worktrees, folder.exists(), site.clone.exists()) == ([], False, True)


def test_a_deletion_cancels_the_run_before_it_takes_the_worktree_away(story: Story) -> None:
    story.apply()
    (run,) = story.trial.runs(KEY)
    story.trial.delete(KEY)
    story.trial.run()
    assert (story.trial.runs(KEY)[0].state, story.folder.exists()) == ("failed", True)
    story.trial.run_for(4)
    assert Path(run.input["worktree"]).exists()
    story.trial.run_for(1)
    assert (story.trial.get(KEY), Path(run.input["worktree"]).exists()) == (None, False)


def test_a_deletion_between_making_it_and_noting_that_leaves_nothing(story: Story, site: Site) -> None:
    with story.trial.crash_after(f"worktree:1:0:{story.head}:review:1:{story.head}"):
        story.apply()
    assert len(site.worktrees) == 1
    story.trial.delete(KEY)
    story.trial.run_for(60)
    assert (story.trial.get(KEY), site.worktrees) == (None, [])


@pytest.mark.parametrize("harm", ["removed", "no repository"])
def test_a_clone_that_is_gone_keeps_nothing_from_being_deleted(story: Story, site: Site, harm: str) -> None:
    story.apply()
    folder = story.folder
    shutil.rmtree(site.clone)
    if harm == "no repository":
        site.clone.mkdir()
    story.end()
    seen = story.trial.get(KEY)
    assert seen is not None
    (gone,) = (one for one in seen.conditions if one.type == "WorktreeRemoved")
    assert (gone.status, gone.reason, str(site.clone) in gone.message) == ("True", "CloneGone", True)
    assert any(one.startswith(f"CloneGone: {site.clone}: ") for one in story.trial.events(KEY))
    assert (story.ready, story.finalizers, folder.exists()) == ("True/Merged", (), False)


def test_what_is_no_clone_is_refused_by_its_field_until_it_is_one(story: Story, site: Site, tmp_path: Path) -> None:
    other = tmp_path / "other"
    story.apply(checkout=str(other))
    assert story.ready == "False/CheckoutUnusable"
    assert story.words == f"spec.checkout: {other} is no clone that can be used: there is no such folder"
    (site.clone / "below").mkdir()
    story.apply(checkout=str(site.clone / "below"))
    assert story.words.startswith(f"spec.checkout: {site.clone}/below is no clone that can be used: fatal: not a git")
    assert (story.finalizers, story.trial.runs(KEY), story.effects) == ((), (), [])
    story.apply(checkout=str(other))
    git(tmp_path, "clone", "--quiet", str(site.origin), str(other))
    story.trial.run_for(300)
    assert (story.ready, (story.folder / PAGE).read_text()) == ("False/Reviewing", "first")


@pytest.mark.parametrize("wrong", ["site", "../site", "/srv/../site", "/", "", "/srv/a\nb"])
def test_a_checkout_that_can_be_no_folder_is_refused_when_it_is_written(trial: Trial, wrong: str) -> None:
    with pytest.raises(Invalid, match=r"spec\.checkout: expected the absolute path of a clone"):
        trial.apply(KEY, {**SPEC, "checkout": wrong})


def test_a_head_that_cannot_be_fetched_is_said_and_tried_again(story: Story, site: Site) -> None:
    away = site.origin.with_name("away.git")
    site.origin.rename(away)
    story.apply()
    assert story.ready == "False/NoWorktree"
    assert story.words.startswith("git fetch origin refs/pull/12/head: fatal: ")
    tries = len(story.effects)
    story.trial.run_for(60)
    assert tries < len(story.effects) < 9
    away.rename(site.origin)
    story.trial.run_for(120)
    assert (story.ready, (story.folder / PAGE).read_text()) == ("False/Reviewing", "first")


def test_a_wrong_checkout_is_mended_by_another(story: Story, site: Site, tmp_path: Path) -> None:
    """Though a repair is named for its head alone, and the first clone could give no worktree."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", "--no-local", str(site.origin), str(other))
    git(other, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    story.forge.made = Checks(failed=("test",))
    story.apply(checkout=str(other))
    assert story.ready == "False/NoWorktree"
    story.apply()
    story.trial.run_for(60)
    assert (story.ready, site.worktrees) == ("False/Repairing", [story.folder])
    assert not (tmp_path / "other.worktrees").exists()


def test_it_moves_to_another_clone_and_goes_where_none_is_named(story: Story, site: Site, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(site.origin), str(other))
    story.apply()
    story.end(approved=False)
    story.apply(checkout=str(other))
    assert (site.worktrees, story.folder.parent.name) == ([], "other.worktrees")
    story.end(approved=False)
    story.apply(checkout=None)
    assert (story.finalizers, (tmp_path / "other.worktrees").exists()) == ((), False)
    assert "worktree" not in story.trial.runs(KEY)[-1].input


def test_two_pull_requests_of_one_clone_and_one_twice_are_in_nobodys_way(story: Story, site: Site) -> None:
    """Nor is a worktree that somebody made by hand, on a disk that is not there."""
    by_hand = site.clone.with_name("by-hand")
    git(site.clone, "worktree", "add", "--quiet", str(by_hand))
    shutil.rmtree(by_hand)
    story.apply()
    other = site.push(13, "other")
    story.forge.pull = replace(story.forge.pull, head_sha=other)
    spec = {**SPEC, "review": "read-it", "checkout": str(site.clone), "expectedHeadSha": other}
    for key in ("acme/site#13", "again"):
        story.trial.apply(key, {**spec, "number": 13})
        story.trial.run()
    theirs = [Path(story.trial.runs(key)[-1].input["worktree"]) for key in ("acme/site#13", "again")]
    assert [(one / PAGE).read_text() for one in (story.folder, *theirs)] == ["first", "other", "other"]
    assert len({story.folder, *theirs}) == 3
    story.trial.delete("again")
    story.trial.run_for(60)
    assert sorted(site.worktrees) == sorted([by_hand, story.folder, theirs[0]])
    assert all(one.exists() for one in (story.folder, theirs[0]))
