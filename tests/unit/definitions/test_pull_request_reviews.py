"""The review of a pull request: one a head, after its checks, and only a plain yes lets it be merged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from controllers.providers.github import Checks
from rmctl.testing import Trial
from tests.remembered_forge import KEY, NEW, OLD, SPEC, Remembered, a_trial

REVIEWED = {**SPEC, "review": "read-it"}
REVIEW = f"review:1:{OLD}"


@pytest.fixture
def forge() -> Remembered:
    return Remembered()


@pytest.fixture
def trial(forge: Remembered) -> Iterator[Trial]:
    with a_trial(forge) as made:
        yield made


def told(trial: Trial) -> tuple[str, str]:
    """Ready with its reason, and what it says."""
    seen = trial.get(KEY)
    assert seen is not None
    return seen.condition("Ready"), next(one.message for one in seen.conditions if one.type == "Ready")


def test_ten_wakes_are_one_review_which_the_merge_waits_for(trial: Trial, forge: Remembered) -> None:
    trial.apply(KEY, REVIEWED)
    for _ in range(10):
        trial.wake(KEY)
        trial.run()
    (run,) = trial.runs(KEY)
    given = {"repository": "acme/site", "number": 12, "headSha": OLD, "credential": "GITHUB_TOKEN"}
    assert (run.workflow, run.key, run.input) == ("read-it", REVIEW, given)
    assert (told(trial), forge.merges) == (("False/Reviewing", "read-it is pending"), [])
    trial.finish(KEY, REVIEW, {"approved": True})
    trial.run()
    assert (told(trial)[0], forge.merges, len(trial.runs(KEY))) == ("True/Merged", [f"squash {OLD}"], 1)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"approved": False, "words": "it has no tests"}, "read-it said no: it has no tests"),
        ({"approved": False}, "read-it said no: it did not say why"),
        ({"approved": "yes"}, "read-it ended with no verdict: expected"),
        ({"approved": 1}, "read-it ended with no verdict: expected"),
        (None, "read-it ended with no verdict: expected"),
        (["approved"], "read-it ended with no verdict: expected"),
        ({"approved": False, "words": "x" * 5000}, "read-it said no: xxx"),
    ],
    ids=["no", "silent", "text", "number", "nothing", "list", "long"],
)
def test_whatever_is_no_plain_yes_keeps_it_from_being_merged(
    trial: Trial, forge: Remembered, result: Any, words: str
) -> None:
    trial.apply(KEY, REVIEWED)
    trial.run()
    trial.finish(KEY, REVIEW, result)
    trial.run_for(3600)
    ready, message = told(trial)
    assert (ready, message.startswith(words), len(message) <= 1000) == ("False/ReviewRejected", True, True)
    assert (forge.merges, len(trial.runs(KEY))) == ([], 1)


def test_a_review_that_failed_is_no_yes(trial: Trial, forge: Remembered) -> None:
    trial.apply(KEY, REVIEWED)
    trial.run()
    trial.fail(KEY, REVIEW, "out of paper")
    trial.run_for(3600)
    assert told(trial) == ("False/ReviewRejected", "read-it failed: out of paper")
    assert (forge.merges, len(trial.runs(KEY))) == ([], 1)


def test_a_new_spec_is_reviewed_anew_and_so_is_a_new_head(trial: Trial, forge: Remembered) -> None:
    trial.apply(KEY, REVIEWED)
    trial.run()
    trial.finish(KEY, REVIEW, {"approved": False})
    trial.run()
    trial.apply(KEY, {**REVIEWED, "review": "read-it-again"})
    trial.run()
    trial.finish(KEY, f"review:2:{OLD}", {"approved": False})
    trial.run()
    forge.pull = replace(forge.pull, head_sha=NEW)
    trial.apply(KEY, {**REVIEWED, "expectedHeadSha": NEW})
    trial.run()
    assert [(one.workflow, one.input["headSha"]) for one in trial.runs(KEY)] == [
        ("read-it", OLD), ("read-it-again", OLD), ("read-it", NEW),
    ]  # fmt: skip
    trial.finish(KEY, f"review:3:{NEW}", {"approved": True})
    trial.run()
    assert (told(trial)[0], forge.merges) == ("True/Merged", [f"squash {NEW}"])


def test_a_yes_to_an_older_head_is_none_to_the_new_one(trial: Trial, forge: Remembered) -> None:
    trial.apply(KEY, REVIEWED)
    trial.run()
    forge.pull = replace(forge.pull, head_sha=NEW)
    trial.finish(KEY, REVIEW, {"approved": True})
    trial.run()
    assert told(trial)[0] == "False/HeadChanged"
    trial.apply(KEY, {**REVIEWED, "expectedHeadSha": NEW})
    trial.run()
    assert (told(trial)[0], forge.merges) == ("False/Reviewing", [])


def test_a_spec_that_changes_starts_no_second_review_beside_the_first(trial: Trial) -> None:
    trial.apply(KEY, REVIEWED)
    trial.run()
    trial.apply(KEY, {**REVIEWED, "pollSeconds": 2})
    trial.run_for(60)
    assert [one.key for one in trial.runs(KEY)] == [REVIEW]
    assert told(trial)[1] == f"waits for the end of {REVIEW}; its review"
    trial.finish(KEY, REVIEW, {"approved": True})
    trial.run()
    assert [one.key for one in trial.runs(KEY)] == [REVIEW, f"review:2:{OLD}"]


def test_a_review_begins_after_the_checks_and_beside_the_approvals(trial: Trial, forge: Remembered) -> None:
    forge.made = Checks(pending=("test",))
    trial.apply(KEY, {**REVIEWED, "requireApprovals": 1})
    trial.run()
    assert (told(trial)[0], trial.runs(KEY)) == ("False/ChecksPending", ())
    forge.made = Checks(passed=("test",))
    trial.run_for(30)
    assert told(trial)[0] == "False/Reviewing"
    trial.finish(KEY, REVIEW, {"approved": True})
    trial.run()
    assert told(trial)[0] == "False/ApprovalPending"
    forge.yes = 1
    trial.run_for(30)
    assert told(trial)[0] == "True/Merged"


def test_a_repair_waits_for_the_review_that_is_under_way(trial: Trial, forge: Remembered) -> None:
    """A check may turn red while somebody reads."""
    trial.apply(KEY, REVIEWED)
    trial.run()
    forge.made = Checks(failed=("test",))
    trial.run_for(60)
    assert (told(trial)[0], len(trial.runs(KEY))) == ("False/Repairing", 1)
    trial.finish(KEY, REVIEW, {"approved": True})
    trial.run()
    assert [one.workflow for one in trial.runs(KEY)] == ["read-it", "repair-pull-request"]
    forge.made = Checks(passed=("test",))
    trial.finish(KEY, f"repair:acme/site:12:{OLD}:1")
    trial.run_for(60)
    assert (told(trial)[0], len(trial.runs(KEY))) == ("True/Merged", 2)


def test_a_review_that_there_is_no_file_for_is_said(trial: Trial) -> None:
    trial._passes._has_workflow = lambda _name, _project: False
    trial.apply(KEY, REVIEWED)
    trial.run()
    assert told(trial)[0] == "False/NoWorkflow"
