"""Schedules: what is woken when, and what is said of the next time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from controllers.runtime.decision import Facts
from controllers.schedule import ScheduleController
from resources.reference import Ref
from resources.schedule import Schedule, ScheduleSpec, ScheduleStatus
from resources.validation import Invalid, parse
from resources.wakes import Wakes, filled, ref_of

NOON = datetime(2027, 6, 1, 12, tzinfo=UTC).timestamp()
JOB = Ref("job", "b.primary.j", "default")
SITE = Ref("pull-request", ref_of("pull-request", "acme/site#12", "default").name, "default")


def a_schedule(status: ScheduleStatus | None = None, generation: int = 1, cron: str = "0 * * * *") -> Schedule:
    spec = ScheduleSpec(
        cron=cron,
        wakes=(Wakes(kind="job", key="b/primary/j"), Wakes(kind="pull-request", key="acme/site#12")),
    )
    return Schedule(Ref("schedule", "s", "default"), "u", generation, 1, spec, status or ScheduleStatus())


class There:
    """A reader that finds these."""

    def __init__(self, *refs: Ref) -> None:
        self.refs = refs

    def find(self, ref: Ref) -> Any:
        return ref if ref in self.refs else None


def decided(schedule: Schedule, now: float, *there: Ref) -> Any:
    controller = ScheduleController()
    return controller.decide(schedule, controller.observe(schedule, There(*there)), Facts(now=now))  # type: ignore[arg-type]


@pytest.mark.req("T53")
def test_the_first_pass_only_plans() -> None:
    decision = decided(a_schedule(), NOON + 60, JOB, SITE)
    assert (decision.wake, decision.requeue_after, decision.status.next_run_at) == ((), 3540.0, NOON + 3600)
    assert decision.status.conditions[0].message == "wakes 2 at 2027-06-01T13:00:00Z"


@pytest.mark.req("T53")
def test_at_its_instant_it_wakes_what_is_there_and_plans_the_next() -> None:
    planned = ScheduleStatus(observed_generation=1, next_run_at=NOON)
    decision = decided(a_schedule(planned), NOON, SITE)
    assert (decision.wake, decision.status.last_run_at, decision.status.next_run_at) == ((SITE,), NOON, NOON + 3600)
    assert decision.status.conditions[0].message.endswith("1 of 2 are not there")


@pytest.mark.req("T53")
def test_instants_that_passed_unseen_are_made_good_once() -> None:
    planned = ScheduleStatus(observed_generation=1, next_run_at=NOON - 5 * 3600)
    decision = decided(a_schedule(planned), NOON + 60, JOB, SITE)
    assert (decision.wake, decision.status.next_run_at) == ((JOB, SITE), NOON + 3600)


@pytest.mark.req("T53")
def test_woken_early_it_wakes_nobody_and_another_cron_is_planned_anew() -> None:
    planned = ScheduleStatus(observed_generation=1, next_run_at=NOON + 3600)
    assert decided(a_schedule(planned), NOON + 60, JOB).wake == ()
    moved = replace(a_schedule(planned, generation=2, cron="30 * * * *"))
    decision = decided(moved, NOON + 60, JOB)
    assert (decision.wake, decision.status.next_run_at) == ((), NOON + 1800)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"cron": "x", "wakes": [{"kind": "job", "key": "a"}]}, "spec.cron:"),
        ({"cron": "0 0 30 2 *", "wakes": [{"kind": "job", "key": "a"}]}, "spec.cron:"),
        ({"cron": "0 0 * * *", "wakes": []}, "spec.wakes: at least 1 needed"),
        ({"cron": "0 0 * * *", "timeZone": "X", "wakes": [{"kind": "job", "key": "a"}]}, "spec.timeZone:"),
        ({"cron": "0 0 * * *", "wakes": [{"kind": "Job", "key": "a"}]}, "spec.wakes[0].kind: must match"),
    ],
)
def test_what_no_schedule_may_say(spec: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse(ScheduleSpec, spec)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("template", "document", "expected"),
    [
        ("site", {}, "site"),
        ("${repository.full_name}#${number}", {"repository": {"full_name": "a/b"}, "number": 12}, "a/b#12"),
        ("${a.b}", {"a": 3}, None),
        ("${a}", {"a": {"b": 1}}, None),
        ("${a}", {"a": True}, None),
        ("${a}", {}, None),
        ("${a}", {"a": "\ud800"}, None),
    ],
)
def test_a_key_is_filled_from_plain_values_only(template: str, document: dict[str, Any], expected: str | None) -> None:
    assert filled(template, document) == expected
