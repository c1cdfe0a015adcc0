"""A forge that is only remembered, and a trial of the kind `pull-request` against it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from controllers.definitions import shipped
from controllers.definitions.loading import load
from controllers.providers.github import Checks, PullRequest, RateLimited
from resources.effect import Absent, Applied, Rejected, Unknown
from rmctl.testing import Trial

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
    answers: list[Rejected | Unknown] = field(default_factory=list)
    """Of the next merges; the last one stays."""
    limited: float = 0.0

    async def pull_request(self, repository: str, _number: int) -> PullRequest:
        assert repository == "acme/site"
        if self.limited:
            raise RateLimited(self.limited)
        return self.pull

    async def checks(self, _repository: str, _sha: str, _required: Any = None) -> Checks:
        return self.made

    async def approvals(self, _repository: str, _number: int, _sha: str) -> int:
        return self.yes

    async def observe_merge(self, _repository: str, _number: int) -> Applied | Absent:
        return Applied(self.pull.merge_sha) if self.pull.merged else Absent()

    async def merge(self, _repository: str, _number: int, sha: str, method: str) -> Applied | Rejected | Unknown:
        self.merges.append(f"{method} {sha}")
        if self.answers:
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if sha != self.pull.head_sha:
            return Rejected("409: Head branch was modified", "HeadChanged")
        self.pull = replace(self.pull, merged=True, merge_sha="c" * 40)
        return Applied("c" * 40)


@contextmanager
def a_trial(forge: Remembered) -> Iterator[Trial]:
    definition = load(FILE)

    @asynccontextmanager
    async def connected(*_: Any) -> AsyncIterator[Remembered]:
        yield forge

    definition.reconcile.__globals__["connected"] = connected
    with Trial(definition) as made:
        yield made
