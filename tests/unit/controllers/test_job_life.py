"""A job from its first place to its end, pass by pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.job import JobController
from controllers.runtime.decision import Facts, Release, Reserve
from controllers.scheduling import Scheduling
from placement.plugins import Plugin
from resources.job import JobStatus
from resources.reference import Ref
from tests.controllers_stage import START, Stage, a_job, a_pool_resource, begun


def stage(**spec: object) -> Stage:
    return Stage(a_job(**spec)).node("node-a").node("node-b")


def test_a_place_is_claimed_and_the_start_ordered_in_one_decision() -> None:
    on = stage()
    decision = on.run()
    claim = decision.claims[0]
    assert isinstance(claim, Reserve)
    start = decision.effects[0]
    assert (len(decision.claims), claim.allocation.id, claim.allocation.node) == (1, "u-1.1.1", "node-a")
    assert (start.kind, start.key, start.provider, start.target) == ("StartJob", "start/1/1", "agents", "node-a")
    assert (start.request["instance"], start.request["attempt"]) == ("u-1.1.1", 1)
    assert start.request["spec"]["command"] == ["run"]
    assert (on.job.status.phase, on.job.status.node, on.job.status.attempt) == ("starting", "node-a", 1)
    assert on.said() == ("False", "Starting", "starts on node-a")
    assert on.said("Unschedulable") == ("False", "Placed", "node-a")
    assert [e.type for e in decision.events] == ["PlacementDecision"]
    assert decision.events[0].message == "node-a of 2 nodes, tier local"


def test_a_status_names_the_decision_that_placed_it_or_found_no_place() -> None:
    on = stage()
    on.run()
    assert [event.type for event in on.cited] == ["PlacementDecision"]
    assert on.job.status.decision == "1"
    begun(on)
    assert on.job.status.decision == "1"
    on = Stage(a_job(requirements={"requiredCapacity": 40})).node("node-a")
    on.run()
    assert ([event.type for event in on.cited], on.job.status.decision) == (["PlacementFailed"], "1")


@pytest.mark.req("F176")
def test_a_decision_to_place_is_told_with_its_ranking() -> None:
    payload = stage().run().events[0].payload
    assert (payload["outcome"], payload["node"], payload["nodes"]) == ("placed", "node-a", 2)
    assert [entry["node"] for entry in payload["ranked"]] == ["node-a", "node-b"]


def test_ready_is_what_the_agent_says_and_nothing_else() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "applied").run()
    assert on.said() == ("False", "Starting", "starts on node-a")
    on.told("running", pid=77).run()
    assert on.said() == ("False", "Starting", "runs on node-a and is not ready yet")
    assert (on.job.status.phase, on.job.status.pid, on.job.status.ever_ran) == ("running", 77, True)
    on.told("ready").run()
    assert on.said() == ("True", "Running", "runs on node-a")
    assert on.job.status.address == "at-node-a"
    on.told("ready", ready=False, not_ready_detail="tcp 8101 refuses").run()
    assert on.said() == ("False", "NotReady", "runs on node-a and is not ready: tcp 8101 refuses")
    assert on.settle().requeue_after is None


def test_becoming_ready_is_told_once() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "applied").told("running").after(2).told("ready")
    decision = on.run()
    assert [(e.type, e.message) for e in decision.events] == [("JobUpdated", "running, then ready after 2 s")]
    assert on.run().events == ()


def test_becoming_ready_is_told_once_though_a_status_keeps_milliseconds() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "applied").told("running").after(2).told("ready", ready_at=on.now + 0.0004).run()
    on.job = replace(on.job, status=JobStatus.model_validate(on.job.status.model_dump(mode="json")))
    assert on.run().events == ()


def test_a_place_that_was_lost_to_a_race_is_left_out() -> None:
    on = stage()
    decision = on.decide(**{"node-a": "vcpu on node-a ran out"})
    claim = decision.claims[0]
    assert isinstance(claim, Reserve)
    assert claim.allocation.node == "node-b"


def test_nowhere_to_go_is_told_in_the_placers_words() -> None:
    on = stage(requirements={"requiredCapacity": 6})
    decision = on.run()
    sentence = "no node fits (2 nodes): 2 × fits: 4 of 6 vcpu free"
    assert on.said() == ("False", "NoFit", f"waits for a place: {sentence}")
    assert on.said("Unschedulable") == ("True", "NoFit", sentence)
    assert (on.job.status.phase, on.job.status.node, on.job.status.waiting_since) == ("pending", None, START)
    assert [(e.type, e.severity, e.message) for e in decision.events] == [
        ("PlacementFailed", "Warning", "noCapacityInAnyPool")
    ]
    assert (decision.requeue_after, decision.no_place_since) == (30, ("local", 0))


def test_what_a_plugin_does_not_admit_is_no_want_of_capacity() -> None:
    on = stage()
    night = Scheduling((Plugin("hours", admit=lambda request: "only at night"),))
    decision = JobController().decide(on.job, replace(on.view(), scheduling=night), Facts(now=START))
    told = [(event.message, event.payload["sentence"]) for event in decision.events]
    assert told == [("notAdmitted", "hours: only at night")]


@pytest.mark.req("FA53")
def test_every_plan_that_found_nothing_is_counted_once() -> None:
    on = stage(requirements={"requiredCapacity": 6})
    on.run()
    on.settle()
    assert on.job.status.plans == 1
    on.after(30).run()
    assert (on.job.status.plans, on.job.status.waiting_since) == (2, START)


def test_waiting_ends_with_a_place() -> None:
    on = stage(requirements={"requiredCapacity": 6})
    on.run()
    on.node("node-c", vcpu=8).after(5).run()
    status = on.job.status
    assert (status.node, status.plans, status.waiting_since) == ("node-c", 0, None)
    assert on.said("Unschedulable") == ("False", "Placed", "node-c")


def test_without_its_pool_a_job_waits_and_says_so() -> None:
    on = Stage(pool=None)
    decision = on.run()
    assert on.said("Unschedulable") == ("True", "NoPool", "no pool local")
    assert on.said() == ("False", "NoFit", "waits for a place: there is no pool local")
    assert decision.requeue_after == 30


@pytest.mark.req("F59", "F60")
def test_a_manual_job_is_dormant_until_it_is_started() -> None:
    on = stage(startMode="manual")
    decision = on.run()
    assert (on.job.status.phase, decision.claims, decision.requeue_after) == ("dormant", (), None)
    assert on.said() == ("True", "Dormant", "is dormant until it is started: rmctl start ch/primary/web")
    on.spec(active=True).run()
    assert on.job.status.node == "node-a"


@pytest.mark.req("F62", "F63", "F64")
def test_a_job_made_dormant_runs_on_and_does_not_come_back() -> None:
    on = stage().up()
    on.spec(active=False).settle()
    assert (on.said(), len(on.allocations)) == (("True", "Running", "runs on node-a"), 1)
    on.ended()
    assert (on.job.status.phase, on.allocations) == ("dormant", {})
    assert on.said() == ("True", "Dormant", "is dormant until it is started: rmctl start ch/primary/web")


@pytest.mark.req("F24", "F25")
def test_no_place_is_looked_for_before_the_lead() -> None:
    tiers = [{"name": "local", "kind": "local-servers", "scaleOut": "fixed", "placementLeadMs": 60000}]
    on = stage(startDateTime="1970-01-12T13:56:40Z")
    on.pool = a_pool_resource(tiers=tiers)
    decision = on.run()
    assert (on.job.status.phase, decision.requeue_after) == ("scheduled", 540)
    assert on.said() == ("False", "Scheduled", "is scheduled to start at 1970-01-12T13:56:40Z")
    decision = on.after(540).run()
    assert (on.job.status.node, decision.effects, decision.requeue_after) == ("node-a", (), 60)
    assert on.said() == ("False", "Scheduled", "has its place on node-a and starts at 1970-01-12T13:56:40Z")
    decision = on.after(60).run()
    assert [e.key for e in decision.effects] == ["start/1/1"]


def test_a_held_place_goes_back_if_the_job_is_stopped_before_its_time() -> None:
    tiers = [{"name": "local", "kind": "local-servers", "scaleOut": "fixed", "placementLeadMs": 60000}]
    on = stage(startDateTime="1970-01-12T13:56:40Z").after(540)
    on.pool = a_pool_resource(tiers=tiers)
    on.run()
    on.spec(active=False).settle()
    assert (on.job.status.phase, on.allocations) == ("dormant", {})


def test_exit_0_is_completed_and_gives_the_room_back() -> None:
    on = stage().up()
    on.told("exited", code=0, ran_seconds=90)
    decision = on.run()
    assert decision.claims == (Release("u-1.1.1"),)
    assert on.said() == ("True", "Completed", "completed: exit 0 after 1m")
    assert (on.job.status.restarts.failed, on.settle().requeue_after) == (0, None)


def test_exit_0_is_a_failure_where_it_should_run_always() -> None:
    on = stage(restartOn="always").up()
    on.ended(code=0)
    assert (on.job.status.phase, on.job.status.restarts.failed) == ("backoff", 1)


def test_a_changed_command_ends_the_old_instance_before_the_next_is_placed() -> None:
    on = stage().up()
    on.spec(command=["other"])
    decision = on.run()
    assert [(e.kind, e.key, e.target) for e in decision.effects] == [("StopJob", "stop/1/1", "node-a")]
    assert (on.job.status.phase, on.job.status.run_generation, on.job.status.attempt) == ("stopping", 2, 1)
    assert (on.said(), decision.claims) == (("False", "Stopping", "stops on node-a and starts anew"), ())
    assert on.settle().effects == ()
    on.answer("stop/1/1", "applied").told("stopping", "u-1.1.1").settle()
    on.told("exited", "u-1.1.1", signal=15, ran_seconds=60)
    decision = on.run()
    assert [type(c) for c in decision.claims] == [Release, Reserve]
    assert [e.key for e in decision.effects] == ["start/2/1"]
    assert (on.job.status.restarts.failed, on.job.status.restarts.at) == (0, ())


@pytest.mark.parametrize(
    "change",
    [{"stopGraceSeconds": 5}, {"historyGeneration": 9}, {"priority": 3}, {"readiness": {"tcp": 1}}, {"pool": "other"}],
)
def test_what_an_instance_does_not_feel_does_not_restart_it(change: dict[str, object]) -> None:
    on = stage().up()
    on.spec(**change)
    assert (on.settle().effects, on.job.status.run_generation) == ((), 1)


def test_a_start_that_nobody_has_seen_is_withdrawn_by_a_change() -> None:
    on = stage()
    on.run()
    on.spec(command=["other"])
    decision = on.run()
    assert (decision.cancel, decision.effects, decision.requeue_after) == (("start/1/1",), (), 0)
    decision = on.run()
    assert [e.key for e in decision.effects] == ["start/2/1"]
    assert [e.type for e in decision.events] == ["PlacementDecision"]


def test_a_start_of_unknown_outcome_says_what_settles_it() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "indeterminate", error="the stream ended").run()
    assert on.said() == (
        "False",
        "EffectUnknown",
        "nobody knows whether start/1/1 on node-a happened: the stream ended",
    )
    assert on.said("Stalled") is None
    on.after(60).run()
    stalled = on.condition("Stalled")
    assert stalled is not None
    assert stalled.message.endswith("; rmctl effects resolve u-1:start/1/1 settles it")


def test_a_start_that_its_agent_forgot_is_a_failure_once_the_agent_is_there_to_be_asked() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "applied").after(61)
    decision = on.state("node-a", connected=False).settle()
    assert (on.job.status.attempt, decision.requeue_after) == (1, 5)
    on.state("node-a", connected=True).run()
    assert (on.job.status.attempt, on.job.status.phase) == (2, "backoff")


def test_deleting_stops_waits_and_lets_go() -> None:
    on = stage().up()
    on.job = replace(on.job, deletion_timestamp=on.now)
    decision = on.run()
    assert [e.key for e in decision.effects] == ["stop/1/1"]
    assert on.said() == ("False", "Deleting", "is being deleted: stops on node-a")
    assert (on.settle().claims, on.gone) == ((), False)
    on.told("exited", signal=15)
    decision = on.run()
    assert (decision.claims, decision.finalizers, on.gone) == ((Release("u-1.1.1"),), (), True)
    assert [e.type for e in decision.events] == ["JobDeleted"]


def test_deleting_looks_again_until_an_agent_can_be_asked() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "applied")
    on.job = replace(on.job, deletion_timestamp=on.now)
    on.run()
    on.state("node-a", connected=False).answer("stop/1/1", "applied").after(90)
    assert on.settle().requeue_after == 5
    on.state("node-a", connected=True).run()
    assert on.gone


def test_deleting_a_job_that_never_ran_is_one_pass() -> None:
    on = Stage()
    on.job = replace(on.job, deletion_timestamp=on.now)
    on.run()
    assert on.gone


def test_a_server_restart_changes_nothing() -> None:
    """At its start no agent is connected yet, and the clocks begin anew."""
    on = stage().up()
    before = on.job
    on.state("node-a", connected=False).after(3600)
    decision = on.settle()
    assert (on.job, decision.effects, decision.claims) == (before, (), ())


def test_a_backup_that_must_keep_away_looks_second() -> None:
    on = stage(role="backup", index=1, forbid={"sameNode": "forbid"})
    on.sibling("ch.primary.web", waits=True, untried=True)
    decision = on.run()
    assert (decision.claims, decision.requeue_after) == ((), 1)
    on.siblings.clear()
    on.sibling("ch.primary.web", on="node-a").run()
    assert on.job.status.node == "node-b"


def test_a_first_place_wakes_the_backup_and_the_rest_of_the_group() -> None:
    on = stage(coLocateWith=["log"])
    on.sibling("ch.primary.log", waits=True, coLocateWith=["web"])
    on.sibling("ch.backup.web", role="backup", index=1, waits=True, untried=True)
    on.sibling("ch.primary.other", waits=True)
    assert on.run().wake == (Ref("job", "ch.primary.log", "default"), Ref("job", "ch.backup.web", "default"))


@pytest.mark.req("F82", "F83")
def test_the_first_of_a_group_finds_room_for_all_and_the_rest_follow() -> None:
    on = Stage(a_job(coLocateWith=["log"])).node("node-a", vcpu=2).node("node-b", vcpu=4)
    on.sibling("ch.primary.log", waits=True, coLocateWith=["web"], requirements={"requiredCapacity": 2})
    on.run()
    assert on.job.status.node == "node-b"
    follower = Stage(a_job(coLocateWith=["log"])).node("node-a", vcpu=2).node("node-b", vcpu=4)
    follower.sibling("ch.primary.log", on="node-b", coLocateWith=["web"]).run()
    assert follower.job.status.node == "node-b"
