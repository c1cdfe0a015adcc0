"""The kind `pull-request` against a forge that is only remembered: the seed's story, told pass by pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from controllers.providers.github import Checks
from resources.effect import Rejected, Unknown
from rmctl.testing import Invalid, Trial
from tests.remembered_forge import KEY, NEW, OLD, SPEC, Remembered, a_trial


@pytest.fixture
def forge() -> Remembered:
    return Remembered()


@pytest.fixture
def trial(forge: Remembered) -> Iterator[Trial]:
    with a_trial(forge) as made:
        yield made


def ready(trial: Trial) -> str:
    seen = trial.get(KEY)
    assert seen is not None
    return seen.condition("Ready")


@pytest.mark.req("CA1", "T54")
def test_ten_wakes_are_one_repair_and_exactly_one_merge_at_the_agreed_head(trial: Trial, forge: Remembered) -> None:
    forge.made = Checks(failed=("test",))
    trial.apply(KEY, SPEC)
    for _ in range(10):
        trial.wake(KEY)
        trial.run()
    (run,) = trial.runs(KEY)
    assert (run.workflow, run.input["headSha"], ready(trial)) == ("repair-pull-request", OLD, "False/Repairing")
    seen = trial.get(KEY)
    assert seen is not None
    assert (seen.status["workflowRun"]["runId"], seen.status["phase"]) == (run.run_id, "repairing")
    forge.made = Checks(passed=("test",))
    trial.finish(KEY, run.key, {"rerun": 1})
    for _ in range(10):
        trial.wake(KEY)
        trial.run()
    assert forge.merges == [f"squash {OLD}"]
    assert len(trial.runs(KEY)) == 1
    assert ready(trial) == "True/Merged"
    assert [(one.kind, one.state, one.request["expectedHeadSha"]) for one in trial.effects(KEY)] == [
        ("github-merge", "applied", OLD)
    ]
    assert trial.run_for(3600) == 0


@pytest.mark.req("CA2")
def test_a_head_that_moved_is_not_merged_and_says_so_until_the_new_one_is_agreed_on(
    trial: Trial, forge: Remembered
) -> None:
    forge.pull = replace(forge.pull, head_sha=NEW)
    trial.apply(KEY, SPEC)
    trial.run()
    seen = trial.get(KEY)
    assert seen is not None
    assert (seen.condition("Ready"), seen.condition("HeadValid"), seen.condition("Stalled")) == (
        "False/HeadChanged", "False/HeadChanged", "True/HeadChanged",
    )  # fmt: skip
    assert (forge.merges, trial.run_for(3600)) == ([], 0)
    trial.apply(KEY, {**SPEC, "expectedHeadSha": NEW})
    trial.run()
    assert (forge.merges, ready(trial)) == ([f"squash {NEW}"], "True/Merged")
    seen = trial.get(KEY)
    assert seen is not None
    assert seen.condition("Stalled") == ""


@pytest.mark.req("CA2")
def test_a_head_that_moves_between_the_look_and_the_merge_is_refused_by_the_forge(
    trial: Trial, forge: Remembered
) -> None:
    looked = forge.pull

    async def approvals(*_: Any) -> int:
        forge.pull = replace(looked, head_sha=NEW)
        return 0

    forge.approvals = approvals  # type: ignore[method-assign]
    trial.apply(KEY, SPEC)
    trial.run_for(60)
    assert forge.merges == [f"squash {OLD}"]
    assert not forge.pull.merged
    assert ready(trial) == "False/HeadChanged"


@pytest.mark.req("CA1", "T33")
def test_a_merge_whose_answer_was_lost_is_found_and_not_repeated(trial: Trial, forge: Remembered) -> None:
    trial.apply(KEY, SPEC)
    with trial.crash_after(f"merge:1:{OLD}:acme/site:12:0"):
        trial.run()
    trial.run_for(60)
    assert forge.merges == [f"squash {OLD}"]
    assert ready(trial) == "True/Merged"
    assert [(one.state, one.external_ref) for one in trial.effects(KEY)] == [("applied", "c" * 40)]


def test_what_it_waits_for_is_said_and_looked_at_again(trial: Trial, forge: Remembered) -> None:
    forge.made = Checks(pending=("test",))
    trial.apply(KEY, {**SPEC, "requireApprovals": 1, "pollSeconds": 10})
    trial.run()
    assert ready(trial) == "False/ChecksPending"
    forge.made = Checks(passed=("test",))
    trial.run_for(10)
    assert ready(trial) == "False/ApprovalPending"
    forge.limited = 120.0
    trial.run_for(10)
    assert ready(trial) == "False/RateLimited"
    forge.limited, forge.yes = 0.0, 1
    trial.run_for(119)
    assert ready(trial) == "False/RateLimited"
    trial.run_for(1)
    assert ready(trial) == "True/Merged"


def test_repairs_that_do_not_help_come_to_an_end(trial: Trial, forge: Remembered) -> None:
    forge.made = Checks(failed=("test",))
    trial.apply(KEY, {**SPEC, "maxRepairs": 2})
    for number in (1, 2):
        trial.run_for(60)
        trial.fail(KEY, f"repair:acme/site:12:{OLD}:{number}", "no idea")
    trial.run_for(600)
    assert ready(trial) == "False/RepairsExhausted"
    assert len(trial.runs(KEY)) == 2


@pytest.mark.parametrize("change", [{"pollSeconds": 2}, {"workflow": "other"}, {"credential": "OTHER"}])
def test_a_spec_that_changes_starts_no_second_repair_beside_the_first(
    trial: Trial, forge: Remembered, change: dict[str, Any]
) -> None:
    forge.made = Checks(failed=("test",))
    trial.apply(KEY, SPEC)
    trial.run()
    trial.apply(KEY, {**SPEC, **change})
    trial.run_for(60)
    (run,) = trial.runs(KEY)
    trial.fail(KEY, run.key, "no idea")
    trial.run_for(60)
    _, second = trial.runs(KEY)
    assert (second.workflow, second.input["credential"]) == (
        change.get("workflow", "repair-pull-request"), change.get("credential", "GITHUB_TOKEN"),
    )  # fmt: skip
    assert any(event == "ChecksFailed: failed: test" for event in trial.events(KEY))


def test_a_repair_that_there_is_no_file_for_is_said(trial: Trial, forge: Remembered) -> None:
    trial._passes._has_workflow = lambda _name, _project: False
    forge.made = Checks(failed=("test",))
    trial.apply(KEY, SPEC)
    trial.run()
    assert ready(trial) == "False/NoWorkflow"


@pytest.mark.parametrize(
    ("change", "reason"), [({"closed": True}, "False/Closed"), ({"mergeable": False}, "False/Conflict")]
)
def test_what_only_a_person_can_help_with(trial: Trial, forge: Remembered, change: dict[str, Any], reason: str) -> None:
    forge.pull = replace(forge.pull, **change)
    trial.apply(KEY, SPEC)
    trial.run()
    assert ready(trial) == reason
    assert forge.merges == []


@pytest.mark.parametrize(
    "wrong", [{"repository": "x"}, {"number": 0}, {"expectedHeadSha": "abc"}, {"mergeMethod": "x"}]
)
def test_a_spec_that_names_no_pull_request_is_refused(trial: Trial, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=f"spec.{next(iter(wrong))}"):
        trial.apply(KEY, {**SPEC, **wrong})


def test_a_merge_that_nobody_knows_of_is_asked_about_less_and_less_often(trial: Trial, forge: Remembered) -> None:
    forge.answers = [Unknown("502")]
    trial.apply(KEY, {**SPEC, "pollSeconds": 1})
    trial.run_for(120)
    assert len(forge.merges) == 7
    assert ready(trial) == "False/EffectUnknown"
    forge.answers = []
    trial.run_for(60)
    assert ready(trial) == "True/Merged"


@pytest.mark.parametrize(("closed", "method"), [(False, "squash"), (True, "squash"), (False, "merge")])
def test_nothing_is_merged_any_more_once_deletion_was_asked_for(
    trial: Trial, forge: Remembered, closed: bool, method: str
) -> None:
    """Nor is the resource kept by a merge that certainly did not happen."""
    forge.answers = [Unknown("502")]
    trial.apply(KEY, SPEC)
    trial.run()
    forge.answers, asked = [], len(forge.merges)
    forge.pull = replace(forge.pull, closed=closed)
    trial.apply(KEY, {**SPEC, "mergeMethod": method})
    trial.delete(KEY)
    trial.run_for(120)
    assert trial.get(KEY) is None
    assert (len(forge.merges), forge.pull.merged) == (asked, False)


def test_a_merge_of_an_older_spec_gets_its_end(trial: Trial, forge: Remembered) -> None:
    forge.answers = [Unknown("502")]
    trial.apply(KEY, SPEC)
    trial.run()
    forge.answers = []
    trial.apply(KEY, {**SPEC, "mergeMethod": "merge"})
    trial.run_for(60)
    assert [one.state for one in trial.effects(KEY)] == ["rejected", "applied"]
    assert forge.merges[-1] == f"merge {OLD}"


@pytest.mark.parametrize(
    "refused", ["409: Head branch was modified", "405: Base branch was modified. Review and try the merge again."]
)
def test_a_refusal_that_goes_away_is_no_end(trial: Trial, forge: Remembered, refused: str) -> None:
    forge.answers = [Rejected(refused, "MergeRejected")]
    trial.apply(KEY, {**SPEC, "pollSeconds": 10})
    trial.run()
    assert (ready(trial), len(forge.merges)) == ("False/Merging", 1)
    forge.answers = []
    trial.run_for(10)
    assert (ready(trial), len(forge.merges)) == ("True/Merged", 2)


def test_a_refusal_that_stays_is_an_end(trial: Trial, forge: Remembered) -> None:
    forge.answers = [Rejected("405: 2 approvals are required", "MergeRejected")]
    trial.apply(KEY, SPEC)
    trial.run_for(600)
    assert (ready(trial), len(forge.merges)) == ("False/MergeRejected", 1)


def test_what_a_person_has_helped_with_is_seen(trial: Trial, forge: Remembered) -> None:
    forge.pull = replace(forge.pull, closed=True)
    trial.apply(KEY, SPEC)
    trial.run()
    assert ready(trial) == "False/Closed"
    forge.pull = replace(forge.pull, closed=False)
    trial.run_for(300)
    assert ready(trial) == "True/Merged"
