"""What a wait tells while it lasts."""

from __future__ import annotations

from typing import Any

import pytest

from cli.goals import READY, Goal, Gone
from cli.kinds import BUNDLE
from cli.targets import Target
from cli.waiting import Wait
from cli.watching import Change, Deadline
from tests.cli_objects import a_bundle, a_job

NO_NODES = ("False", "NoFit", "waits for a place: the pool has no nodes")


def waited(goal: Goal, *changes: Change) -> Wait:
    """A wait for bundle/hello that has seen these."""
    wait = Wait([Target(BUNDLE, "hello")], goal, "default")
    for change in changes:
        wait.take(change)
    return wait


def of_job(*ready: str, **status: Any) -> Change:
    return Change("LISTED", "job", a_job("hello/primary/web", (ready[0], ready[1], ready[2]), **status))


def of_bundle(*ready: str) -> Change:
    return Change("LISTED", "bundle", a_bundle("hello", (ready[0], ready[1], ready[2])))


def test_a_bundle_that_waits_is_told_with_what_its_jobs_wait_for(capsys: pytest.CaptureFixture[str]) -> None:
    waits = of_bundle("False", "NoFit", "0 of 1 job runs, 1 waits")
    waited(READY, waits, of_job(*NO_NODES), of_job(*NO_NODES), of_job("False", "Starting", "starts on n"), waits)
    assert capsys.readouterr().err.splitlines() == [
        "bundle/hello  NoFit: 0 of 1 job runs, 1 waits",
        "job/hello/primary/web  NoFit: waits for a place: the pool has no nodes",
    ]


def test_what_a_deletion_waits_for_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    waited(Gone(), of_job("False", "Deleting", "is being deleted: stops on n-b, which is silent", node="n-b"))
    out = "rmctl node lost n-b gives it up, if it will not come back"
    told = f"job/hello/primary/web  Deleting: is being deleted: stops on n-b, which is silent; {out}\n"
    assert capsys.readouterr().err == told


def test_the_jobs_are_watched_beside_their_bundle_and_their_end_ends_nothing() -> None:
    (bundles, jobs) = waited(READY).topics()
    assert (bundles.kind.name, bundles.aside, jobs.kind.name, jobs.aside) == ("bundle", False, "job", True)
    assert jobs.query == {"labelSelector": "rmctl/bundle in (hello)"}


def test_a_deadline_counts_down() -> None:
    deadline = Deadline(600)
    first, second = deadline.left(), deadline.left()
    assert first is not None
    assert second is not None
    assert 0 < second <= first <= 600
