"""What becomes of a job whose instance ends, is refused, or whose node goes silent."""

from __future__ import annotations

import pytest

from controllers.runtime.decision import Release, Reserve
from placement import Spare
from resources.reference import Ref
from tests.controllers_stage import START, Stage, a_job, a_pool_resource, begun, crash, stage

REFUSAL = "JOB_REJECTED_NO_CAPACITY"


def test_a_failure_is_counted_and_the_room_kept_until_the_next_start() -> None:
    on = stage().up()
    on.told("exited", code=3, ran_seconds=2.5)
    decision = on.run()
    status = on.job.status
    assert (status.phase, status.attempt, status.node, status.next_start_at) == ("backoff", 2, "node-a", START + 5)
    assert (decision.claims, decision.requeue_after) == ((), 5)
    assert (status.restarts.failed, status.restarts.last_hour, status.restarts.ceiling) == (1, 0, 6)
    assert on.said() == (
        "False",
        "Recovering",
        "recovers: exit 3 after 2.5 s, next start at 13:46:45Z. 0 of 6 restarts used.",
    )
    assert on.said("Unschedulable") == ("False", "Placed", "node-a, room held until the start")
    assert [(e.type, e.severity, e.message) for e in decision.events] == [("JobUpdated", "Warning", "exit 3")]
    assert status.last_exit is not None
    assert (status.last_exit.code, status.last_exit.node, status.last_exit.attempt) == (3, "node-a", 1)


@pytest.mark.req("F124", "F125", "FA15")
def test_the_first_recovery_goes_elsewhere_and_swaps_the_claims_in_one_decision() -> None:
    on = stage().up().ended()
    decision = on.after(5).run()
    release, reserve = decision.claims
    assert release == Release("u-1.1.1")
    assert isinstance(reserve, Reserve)
    assert (reserve.allocation.id, reserve.allocation.node) == ("u-1.1.2", "node-b")
    assert [e.key for e in decision.effects] == ["start/1/2"]
    assert (on.job.status.restarts.last_hour, on.job.status.excluded_node) == (1, None)


@pytest.mark.req("F157")
def test_the_failed_node_gets_the_job_back_if_no_other_can_take_it() -> None:
    """On a full fleet the room of the dead instance is what the next one needs."""
    on = Stage(a_job(requirements={"requiredCapacity": 4})).node("node-a").up().ended()
    on.after(5).run()
    assert on.job.status.node == "node-a"


def test_later_recoveries_may_use_the_node_again() -> None:
    on = stage().up()
    crash(on)
    assert on.job.status.node == "node-b"
    crash(on)
    assert on.job.status.node == "node-a"


@pytest.mark.req("F135", "F136")
def test_starts_are_spaced_wider_while_a_job_keeps_failing() -> None:
    on = stage(requirements={"maxRestartsPerHour": 50}).up()
    assert [crash(on) for _ in range(7)] == [5, 10, 20, 40, 60, 60, 60]


@pytest.mark.req("F135")
def test_ten_minutes_of_running_bring_the_shortest_spacing_back() -> None:
    on = stage(requirements={"maxRestartsPerHour": 50}).up()
    assert [crash(on), crash(on), crash(on, ran=600.0), crash(on)] == [5, 10, 5, 10]


def test_from_the_second_failure_in_a_row_on_it_is_a_crash_loop() -> None:
    on = stage().up()
    crash(on)
    assert on.condition("CrashLooping") is None
    on.ended(code=1)
    assert on.said("CrashLooping") == ("True", "RepeatedExit", "2 ends in a row, the last exit 1")
    assert on.said() == (
        "False",
        "CrashLooping",
        "keeps crashing: exit 1 after 2.5 s, next start at 13:46:55Z. 1 of 6 restarts used.",
    )
    on.after(10).run()
    begun(on)
    assert on.said("CrashLooping") == ("False", "Running", "2 ends in a row, the last exit 1")


@pytest.mark.req("F129", "F131", "F139", "FA9")
def test_the_failure_past_the_ceiling_is_the_last() -> None:
    on = stage(requirements={"maxRestartsPerHour": 2}).up()
    crash(on)
    on.ended()
    looping = "keeps crashing: exit 1 after 2.5 s, next start at 13:46:55Z. 1 of 2 restarts used"
    assert on.said() == ("False", "CrashLooping", f"{looping}: one more exit breaks bundle/ch.")
    on.after(10).run()
    begun(on)
    on.told("exited", code=1, ran_seconds=2.5)
    decision = on.run()
    words = "exit 1; all 2 restarts of the last hour are used (13:46:45Z, 13:46:55Z)"
    assert on.job.status.terminal == f"RestartCeiling: {words}"
    assert (on.job.status.phase, on.allocations) == ("dropped", {})
    assert on.said() == ("False", "Dropped", f"is given up: {words}")
    assert on.said("Stalled") == (
        "True",
        "RestartCeiling",
        f"{words}. Mend the cause, then apply it or rmctl restart bundle/ch",
    )
    assert [e.type for e in decision.events] == ["JobUpdated"]


@pytest.mark.req("F148")
def test_nothing_follows_a_verdict() -> None:
    on = stage(requirements={"maxRestartsPerHour": 0}).up().ended()
    on.settle()
    on.after(100)
    decision = on.settle()
    assert (decision.effects, decision.claims, on.job.status.phase) == ((), (), "dropped")


@pytest.mark.req("F144", "FA10")
def test_a_job_that_is_not_essential_is_dropped_at_its_ceiling() -> None:
    on = stage(requirements={"maxRestartsPerHour": 0, "essential": False}).up()
    on.told("exited", code=1)
    assert [(e.type, e.message) for e in on.run().events] == [
        ("JobUpdated", "exit 1"),
        ("JobDropped", "exit 1; no restart is allowed"),
    ]


@pytest.mark.req("F132")
def test_a_restart_of_more_than_an_hour_ago_counts_no_longer() -> None:
    on = stage(requirements={"maxRestartsPerHour": 1}).up()
    crash(on)
    on.after(3601)
    assert crash(on, ran=3600.0) == 5
    assert (on.job.status.restarts.last_hour, on.job.status.restarts.failed) == (1, 2)


def test_counts_of_the_hour_age_by_themselves() -> None:
    on = stage().up()
    crash(on)
    decision = on.settle()
    assert decision.requeue_after is not None
    on.after(decision.requeue_after).settle()
    assert (on.job.status.restarts.last_hour, on.settle().requeue_after) == (0, None)


@pytest.mark.req("F73", "F130")
@pytest.mark.parametrize(
    ("own", "policy", "flat", "ceiling"), [(1, 2, 3, 1), (None, 2, 3, 2), (None, None, 3, 3), (None, None, None, 6)]
)
def test_the_ceiling_is_the_nearest_word(own: int | None, policy: int | None, flat: int | None, ceiling: int) -> None:
    on = stage(requirements={} if own is None else {"maxRestartsPerHour": own})
    fields = {} if flat is None else {"maxRestartsPerHour": flat}
    policies = {} if policy is None else {"failurePolicies": {"avoidSpare": {"maxRestartsPerHour": policy}}}
    on.pool = a_pool_resource(**fields, **policies)
    on.run()
    assert on.job.status.restarts.ceiling == ceiling


@pytest.mark.req("F126", "F138")
def test_a_drop_job_is_never_placed_again_and_never_counted() -> None:
    on = stage(requirements={"onRuntimeFailure": "drop"}).up()
    on.told("exited", code=1)
    decision = on.run()
    assert on.job.status.terminal == "Dropped: exit 1; onRuntimeFailure is drop"
    assert (on.job.status.restarts.failed, on.job.status.restarts.ceiling, on.allocations) == (0, None, {})
    assert [e.type for e in decision.events] == ["JobUpdated", "JobDropped"]


@pytest.mark.req("F145", "F146", "FA10")
def test_an_invalid_spec_is_final_at_its_first_refusal_in_the_agents_words() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "rejected", code="JOB_REJECTED_INVALID_SPEC", error="workingDir is a file")
    decision = on.run()
    assert (on.job.status.terminal, on.job.status.phase) == ("InvalidSpec: workingDir is a file", "dropped")
    assert decision.claims == (Release("u-1.1.1"),)
    assert [e.type for e in decision.events] == ["JobRejected", "JobDropped"]
    assert on.settle().effects == ()
    stalled = on.said("Stalled")
    assert stalled is not None
    assert stalled[:2] == ("True", "InvalidSpec")


@pytest.mark.req("FA14")
def test_another_refusal_is_tried_elsewhere_after_five_seconds_and_not_counted() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "rejected", code=REFUSAL, error="no room")
    decision = on.run()
    assert (decision.claims, decision.requeue_after) == ((Release("u-1.1.1"),), 5)
    assert on.said() == (
        "False",
        "Starting",
        "is placed again: node-a refused the start: no room, next start at 13:46:45Z",
    )
    assert [(e.type, e.message) for e in decision.events] == [("JobRejected", f"node-a: {REFUSAL}: no room")]
    on.after(5).run()
    assert (on.job.status.node, on.job.status.attempt, on.job.status.restarts.at) == ("node-b", 2, ())


def test_the_only_node_is_asked_again_after_a_refusal() -> None:
    on = stage("node-a")
    on.run()
    on.answer("start/1/1", "rejected", code=REFUSAL, error="no room").run()
    decision = on.after(5).run()
    assert on.said("Unschedulable") == (
        "True",
        "NoFit",
        "no node fits (1 nodes): 1 × excluded: refused the start: no room",
    )
    assert decision.requeue_after == 5
    on.after(5).run()
    assert on.job.status.node == "node-a"


@pytest.mark.req("F78", "F77")
def test_a_changed_bundle_forgives_without_restarting_what_runs() -> None:
    on = stage(requirements={"maxRestartsPerHour": 1}).up()
    crash(on)
    on.spec(historyGeneration=2).settle()
    assert (on.job.status.restarts.at, on.job.status.restarts.failed) == ((), 1)
    assert on.said() == ("True", "Running", "runs on node-b")


@pytest.mark.req("F77")
def test_a_changed_bundle_takes_a_verdict_back() -> None:
    on = stage(requirements={"maxRestartsPerHour": 0}).up().ended()
    on.spec(historyGeneration=2).run()
    assert (on.job.status.terminal, on.job.status.phase) == (None, "starting")


def test_a_restart_takes_a_verdict_back_and_begins_another_run() -> None:
    on = stage(requirements={"maxRestartsPerHour": 0}).up().ended()
    on.spec(restartedAt="1970-01-12T13:50:00Z")
    assert [e.key for e in on.run().effects] == ["start/2/1"]


@pytest.mark.req("F143", "F147", "FA11")
def test_under_a_broken_bundle_nothing_is_placed_and_what_runs_stays() -> None:
    on = stage().up()
    on.spec(placingStopped=True)
    assert (on.settle().effects, on.said()) == ((), ("True", "Running", "runs on node-a"))
    on.ended()
    assert (on.job.status.phase, on.allocations) == ("pending", {})
    assert on.said() == ("False", "Broken", "is not placed: bundle/ch is broken")
    assert on.settle().requeue_after is None


@pytest.mark.req("F148")
def test_a_broken_bundle_voids_a_start_that_was_due() -> None:
    on = stage().up().ended()
    on.spec(placingStopped=True).settle()
    assert (on.job.status.next_start_at, on.allocations) == (None, {})
    on.after(60).settle()
    assert on.said() == ("False", "Broken", "is not placed: bundle/ch is broken")


def test_a_node_that_refused_a_start_is_looked_at() -> None:
    on = stage()
    on.run()
    on.answer("start/1/1", "rejected", code=REFUSAL, error="no room")
    assert Ref("node", "node-a") in on.run().wake


@pytest.mark.req("F134")
def test_a_spare_that_takes_the_job_leaves_its_history() -> None:
    """It was not launched for this job."""
    on = stage("node-a", requirements={"onRuntimeFailure": "preferSpare"}).up()
    on.ended()
    made = on.job.status.restarts
    on.node("node-s", spare=Spare()).after(5).run()
    begun(on)
    assert on.job.status.node == "node-s"
    assert on.job.status.restarts.at == (on.now,)
    assert on.job.status.restarts.failed == made.failed == 1


@pytest.mark.req("F137")
def test_a_job_that_waits_for_its_next_start_holds_up_no_other() -> None:
    """Both on one fleet, of one bundle: the second recovers in its own time."""
    first = stage().up()
    second = Stage(a_job(name="ch.primary.side", uid="u-2", jobName="side"), fleet=first.fleet, nodes=first.nodes)
    second.sibling("ch.primary.web", on=None)
    second.up()
    for _ in range(3):
        crash(first)
    first.ended()
    assert first.job.status.next_start_at == first.now + 40
    second.now = first.now
    second.ended()
    assert second.job.status.next_start_at == second.now + 5
    second.after(5).run()
    assert (second.job.status.phase, first.job.status.phase) == ("starting", "backoff")
