"""What becomes of a job whose node goes silent, is lost, or comes back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.runtime.decision import Release, Reserve
from tests.controllers_stage import Stage, begun, crash, stage


def silent(on: Stage, name: str = "node-a") -> Stage:
    return on.state(name, silent=True, connected=False, silent_since=on.now)


def lost(on: Stage, name: str = "node-a") -> Stage:
    silent(on, name)
    return on.state(name, lost=True)


def test_a_silent_node_makes_its_job_unknown_and_nothing_else() -> None:
    on = silent(stage().up())
    decision = on.run()
    assert on.said() == ("Unknown", "NodeSilent", "runs on node-a, which has been silent since 13:46:40Z")
    assert (decision.claims, decision.effects, on.job.status.phase) == ((), (), "running")


def test_a_lost_node_has_its_job_placed_again_at_once() -> None:
    on = lost(stage().up())
    decision = on.run()
    assert [type(c) for c in decision.claims] == [Release, Reserve]
    status = on.job.status
    assert (status.node, status.attempt, status.restarts.lost, status.restarts.failed) == ("node-b", 2, 1, 0)
    assert status.restarts.at == (on.now,)
    assert [e.message for e in decision.events] == ["lost with node-a", "node-b of 2 nodes, tier local"]


def test_a_job_that_waits_after_the_loss_of_its_node_says_so_and_not_how_it_ended_before() -> None:
    on = stage("node-a", "node-b").up()
    crash(on)
    on.settle()
    on.after(5).run()
    on.up()
    where = on.job.status.node
    lost(on.after(7), where).settle()
    told = on.said()
    assert told is not None
    assert told[2].startswith(f"recovers: lost with {where} after 7 s, next start at ")
    assert on.job.status.last_exit is not None
    assert (on.job.status.last_exit.node, on.job.status.last_exit.signal) == (where, None)


def test_a_lost_node_that_comes_back_has_its_older_instance_stopped() -> None:
    on = lost(stage().up())
    on.run()
    begun(on)
    assert on.settle().effects == ()
    on.state("node-a", silent=False, lost=False, connected=True)
    decision = on.run()
    assert [(e.kind, e.key, e.target) for e in decision.effects] == [("StopJob", "stop/1/1", "node-a")]
    assert (on.said(), on.settle().effects) == (("True", "Running", "runs on node-b"), ())


def test_with_no_place_elsewhere_the_return_of_the_node_is_waited_for() -> None:
    on = lost(stage("node-a").up())
    decision = on.run()
    assert (decision.claims, on.job.status.attempt, on.job.status.phase) == ((), 1, "pending")
    assert (on.job.status.node, on.job.status.instance_id) == (None, "u-1.1.1")
    assert on.said() == ("False", "NoFit", "waits for a place: no node fits (1 nodes): 1 × unreachable")
    assert [e.type for e in decision.events] == ["JobUpdated", "PlacementFailed"]
    assert [e.type for e in on.after(30).run().events] == ["PlacementFailed"]
    on.state("node-a", silent=False, lost=False, connected=True).run()
    assert on.said() == ("True", "Running", "runs on node-a")
    assert (on.job.status.attempt, on.job.status.restarts.lost, on.job.status.waiting_since) == (1, 0, None)


def test_a_place_elsewhere_ends_that_wait() -> None:
    on = lost(stage("node-a").up())
    on.run()
    on.node("node-b").after(10).run()
    assert (on.job.status.node, on.job.status.attempt, on.job.status.restarts.lost) == ("node-b", 2, 1)


def test_stop_is_given_up_when_its_node_is_lost_since_it_has_ended_there() -> None:
    on = lost(stage("node-a", onDisconnect="stop").up())
    on.run()
    assert (on.job.status.attempt, on.allocations) == (2, {})


def test_hold_waits_for_the_node_or_for_a_persons_word() -> None:
    on = lost(stage(onDisconnect="hold").up())
    decision = on.settle()
    assert (decision.claims, on.job.status.attempt) == ((), 1)
    assert on.said() == (
        "Unknown",
        "NodeSilent",
        "runs on node-a, which is lost; held there until it is back or rmctl node lost node-a gives it up",
    )
    on.state("node-a", given_up=True).run()
    assert (on.job.status.node, on.job.status.restarts.lost) == ("node-b", 1)


@pytest.mark.req("F128", "FA6")
def test_a_drop_job_lost_with_its_node_is_dropped() -> None:
    on = lost(stage(requirements={"onRuntimeFailure": "drop"}).up())
    on.run()
    assert on.job.status.terminal == "Dropped: lost with node-a; onRuntimeFailure is drop"


def test_a_start_on_its_way_to_a_lost_node_is_withdrawn() -> None:
    on = stage()
    on.run()
    lost(on)
    decision = on.run()
    assert decision.cancel == ("start/1/1",)
    assert (on.job.status.node, on.job.status.attempt) == ("node-b", 2)


@pytest.mark.req("F135")
def test_a_second_loss_right_after_the_first_waits() -> None:
    on = lost(stage("node-a", "node-b", "node-c").up())
    on.run()
    lost(begun(on).after(2), "node-b").run()
    assert (on.job.status.phase, on.job.status.next_start_at) == ("backoff", on.now + 3)
    on.after(3).run()
    assert on.job.status.node == "node-c"


def test_a_changed_run_counts_its_attempts_from_one() -> None:
    on = stage().up()
    crash(on)
    on.spec(command=["other"]).run()
    on.told("exited", "u-1.1.2")
    assert [e.key for e in on.run().effects] == ["start/2/1"]


def test_a_job_that_keeps_failing_waits_also_after_a_loss() -> None:
    on = stage().up()
    crash(on)
    lost(on, "node-b").run()
    assert (on.job.status.phase, on.job.status.next_start_at) == ("backoff", on.now + 5)
    assert on.allocations == {}


def test_while_an_older_instance_lives_on_a_connected_node_no_other_is_started() -> None:
    on = lost(stage().up())
    on.run()
    begun(on).ended()
    on.state("node-a", silent=False, lost=False, connected=True)
    decision = on.after(5).run()
    assert (on.job.status.phase, [e.key for e in decision.effects], on.allocations) == ("stopping", ["stop/1/1"], {})
    on.told("exited", "u-1.1.1", signal=15)
    assert [e.key for e in on.run().effects] == ["start/1/3"]


def test_an_older_instance_that_comes_back_does_not_wake_a_completed_job() -> None:
    on = lost(stage().up())
    on.run()
    begun(on).ended(code=0)
    on.state("node-a", silent=False, lost=False, connected=True)
    assert [e.key for e in on.run().effects] == ["stop/1/1"]
    assert (on.job.status.phase, on.said()) == ("completed", ("True", "Completed", "completed: exit 0 after 2.5 s"))


def test_a_refused_stop_is_repeated_after_a_while() -> None:
    on = stage().up()
    on.spec(command=["other"]).run()
    on.answer("stop/1/1", "rejected", error="busy")
    assert on.settle().requeue_after == 5
    assert [e.key for e in on.after(5).run().effects] == ["stop/1/1/2"]


def test_deleting_on_a_silent_node_waits_and_on_a_lost_one_does_not() -> None:
    on = stage().up()
    on.job = replace(on.job, deletion_timestamp=on.now)
    silent(on).settle()
    way_out = "given up once that node is lost, or by rmctl node lost node-a"
    assert on.said() == ("False", "Deleting", f"is being deleted: stops on node-a, which is silent; {way_out}")
    lost(on).run()
    assert (on.gone, on.allocations) == (True, {})


def test_a_stop_that_nobody_will_answer_keeps_no_deletion_back() -> None:
    """The node fell silent with the stop on its way; what ran there is given up, and so is the stop."""
    on = stage().up()
    on.job = replace(on.job, deletion_timestamp=on.now)
    on.run()
    assert silent(on).settle().cancel == ()
    assert lost(on).run().cancel == ("stop/1/1",)
    assert on.gone


def test_deleting_a_held_job_of_a_lost_node_names_the_way_out() -> None:
    on = stage(onDisconnect="hold").up()
    on.job = replace(on.job, deletion_timestamp=on.now)
    lost(on).settle()
    assert on.said() == (
        "False",
        "Deleting",
        "is being deleted: stops on node-a, which is lost; rmctl node lost node-a gives it up",
    )


def under_stop(on: Stage) -> Stage:
    """What runs was started under `replace`, and the rule is another now."""
    return on.spec(onDisconnect="stop")


def test_an_instance_without_a_fence_is_not_replaced_once_the_rule_is_stop() -> None:
    on = lost(under_stop(stage().up()))
    decision = on.settle()
    assert (decision.claims, on.job.status.attempt) == ((), 1)
    assert on.said() == (
        "Unknown",
        "NodeSilent",
        (
            "runs on node-a, which is lost; it was started before onDisconnect became stop, and nothing ends it there: "
            "held there until the node is back or rmctl node lost node-a gives it up"
        ),
    )
    on.state("node-a", given_up=True).run()
    assert (on.job.status.node, on.job.status.restarts.lost) == ("node-b", 1)


def test_another_run_waits_for_an_older_one_without_a_fence() -> None:
    on = lost(under_stop(stage().up()).spec(command=["other"]))
    on.settle()
    assert on.said() == (
        "Unknown",
        "NodeSilent",
        (
            "is to stop on node-a, which is lost; it was started before onDisconnect became stop, and nothing ends it "
            "there: rmctl node lost node-a gives it up"
        ),
    )
    on.state("node-a", given_up=True)
    assert [e.key for e in on.run().effects] == ["start/3/1"]


def test_a_fence_that_was_given_at_the_start_counts_whatever_the_rule_is_now() -> None:
    on = lost(stage(onDisconnect="stop").up().spec(onDisconnect="replace"))
    on.run()
    assert (on.job.status.node, on.job.status.attempt) == ("node-b", 2)


@pytest.mark.parametrize("rule", ["stop", "hold"])
def test_an_instance_given_up_under_replace_is_waited_for_once_the_rule_is_another(rule: str) -> None:
    on = lost(stage("node-a", "node-b", "node-c").up())
    on.run()
    begun(on).spec(onDisconnect=rule).ended()
    decision = on.after(5).run()
    assert (decision.effects, on.job.status.phase, decision.requeue_after) == ((), "stopping", 30)
    assert on.said() is not None
    on.state("node-a", silent=False, lost=False, connected=True)
    assert [e.key for e in on.run().effects] == ["stop/1/1"]
    on.told("exited", "u-1.1.1", signal=15)
    assert [e.key for e in on.run().effects] == ["start/1/3"]


def test_a_start_that_may_have_happened_unseen_is_waited_for_under_stop() -> None:
    on = stage("node-a", "node-b", "node-c")
    on.run()
    on.answer("start/1/1", "indeterminate")
    lost(on).after(60).run()
    on.answer("start/1/1", "rejected", code="cancelled")
    begun(on).spec(onDisconnect="stop").ended()
    assert (on.after(5).run().effects, on.job.status.phase) == ((), "stopping")
    on.state("node-a", silent=False, lost=False, connected=True, heard_at=on.now)
    assert [e.key for e in on.after(30).run().effects] == ["start/1/3"]
