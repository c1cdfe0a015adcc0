"""A co-located group without a place: its members do not wake each other for ever."""

from __future__ import annotations

from tests.controllers_stage import Stage, a_job


def test_a_failed_plan_wakes_only_members_that_have_not_looked_yet() -> None:
    on = Stage(job=a_job(coLocateWith=["log", "web2"], requirements={"requiredCapacity": 64})).node("node-a")
    on.sibling("ch.primary.log", waits=True, untried=True, coLocateWith=["web"])
    on.sibling("ch.primary.web2", waits=True, coLocateWith=["web"])
    decision = on.run()
    assert decision.status.phase == "pending"
    assert [ref.name for ref in decision.wake if ref.kind == "job"] == ["ch.primary.log"]
