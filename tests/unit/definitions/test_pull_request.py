"""The kind `pull-request` against a forge that is only remembered: the seed's story, told pass by pass."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from controllers.definitions import shipped
from controllers.definitions.loading import load
from controllers.providers.github import Checks, PullRequest, RateLimited
from resources.effect import Absent, Applied, Rejected
from rmctl.testing import Invalid, Trial

FILE = Path(shipped.__file__).parent / "resource-managers" / "pull-request.resource_manager.py"
OLD, NEW = "a" * 40, "b" * 40
SPEC = {"repository": "acme/site", "number": 12, "expectedHeadSha": OLD, "requireApprovals": 0}
KEY = "acme/site#12"


@dataclass
class Remembered:
    """A forge as the client shows it."""

    pull: PullRequest = field(default_factory=lambda: PullRequest(OLD, False, "", False, True))
    made: Checks = field(default_factory=lambda: Checks(passed=("test",)))
    yes: int = 0
    merges: list[str] = field(default_factory=list)
    limited: float = 0.0

    async def pull_request(self, repository: str, number: int) -> PullRequest:
        assert (repository, number) == ("acme/site", 12)
        if self.limited:
            raise RateLimited(self.limited)
        return self.pull

    async def checks(self, _repository: str, _sha: str, _required: Any = None) -> Checks:
        return self.made

    async def approvals(self, _repository: str, _number: int, _sha: str) -> int:
        return self.yes

    async def observe_merge(self, _repository: str, _number: int) -> Applied | Absent:
        return Applied(self.pull.merge_sha) if self.pull.merged else Absent()

    async def merge(self, _repository: str, _number: int, sha: str, method: str) -> Applied | Rejected:
        self.merges.append(f"{method} {sha}")
        if sha != self.pull.head_sha:
            return Rejected("409: Head branch was modified", "HeadChanged")
        self.pull = replace(self.pull, merged=True, merge_sha="c" * 40)
        return Applied("c" * 40)


@pytest.fixture
def forge() -> Remembered:
    return Remembered()


@pytest.fixture
def trial(forge: Remembered) -> Iterator[Trial]:
    definition = load(FILE)

    @asynccontextmanager
    async def connected(*_: Any) -> AsyncIterator[Remembered]:
        yield forge

    definition.reconcile.__globals__["connected"] = connected
    with Trial(definition) as made:
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
    with trial.crash_after(f"merge:1:{OLD}"):
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
        trial.fail(KEY, f"repair:1:{OLD}:{number}", "no idea")
    trial.run_for(600)
    assert ready(trial) == "False/RepairsExhausted"
    assert len(trial.runs(KEY)) == 2


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
