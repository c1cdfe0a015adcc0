"""A node: running, silent, lost, back; what it has and whether it is open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.brake import Silence
from controllers.runtime.decision import Block, Room, Unblock
from resources.node import NoSchedule, SpareStatus
from resources.pool import PoolSpec
from resources.reference import Ref
from tests.builders import a_pool
from tests.controllers_node import JOB, NOW, NodeStage, a_claim, a_node, facts


def test_a_connected_node_runs_and_is_open() -> None:
    on = NodeStage(claims=[a_claim()])
    decision = on.run()
    status = on.node.status
    assert (status.phase, status.address, status.zone, status.boot_id) == ("running", "10.0.0.1", "z", "boot-1")
    assert on.said() == ("True", "Connected", "is connected, 1.5 of 4 vcpu claimed, 1 job")
    assert on.said("Schedulable") == ("True", "Open", "takes new jobs")
    assert (status.jobs, status.ports, status.last_heartbeat) == (("ch/primary/web",), ("8101/tcp",), None)
    assert (decision.requeue_after, decision.blocks) == (15, ())
    assert [e.type for e in decision.events] == ["NodeStarted"]
    assert on.run().events == ()


@pytest.mark.req("F198", "F199", "F202", "F203")
def test_amounts_are_total_cap_reserved_and_free() -> None:
    on = NodeStage(a_node(utilizationCap=0.75), claims=[a_claim()])
    decision = on.run()
    vcpu = on.node.status.capacity["vcpu"]
    assert (vcpu.total, vcpu.cap, vcpu.reserved, vcpu.free) == (4, 3, 1.5, 1.5)
    memory = on.node.status.capacity["memory"]
    assert (memory.total, memory.cap, memory.reserved, memory.free) == (8192, 8192, 100, 8092)
    amounts = {"vcpu": (4000, 3000), "cores": (4, 4), "memory": (8192, 8192)}
    assert decision.rooms == (Room("node-a", "local", amounts),)


@pytest.mark.req("F200", "F201", "F416")
@pytest.mark.parametrize(("told", "cap"), [(1.0, 4), (0.5, 2), (0, 4), (-1, 4), (4, 4), (float("nan"), 4)])
def test_a_cap_that_is_no_fraction_is_all_of_it(told: float, cap: float) -> None:
    on = NodeStage(facts=facts(utilization_cap=told))
    on.run()
    assert on.node.status.capacity["vcpu"].cap == cap


def test_a_node_that_shrank_has_nothing_free() -> None:
    on = NodeStage(claims=[a_claim(6000)])
    on.run()
    assert on.node.status.capacity["vcpu"].free == 0
    assert on.said("Schedulable") == ("False", "Overclaimed", "has less than is claimed on it: 6 of 4 vcpu")


@pytest.mark.req("F178")
def test_a_node_that_was_never_heard_of_says_how_to_bring_it() -> None:
    on = NodeStage(facts=None)
    decision = on.run()
    assert (on.node.status.phase, decision.rooms, decision.requeue_after) == ("booting", (), None)
    assert on.said() == (
        "False",
        "NoInventory",
        "has never been heard of: rmctl node join node-a prints what to run there",
    )
    assert on.said("Schedulable") == ("False", "NoInventory", "nothing is known of what it has")


def test_silent_then_lost_then_back() -> None:
    on = NodeStage(claims=[a_claim()])
    on.run()
    assert on.at(14.9).requeue_after == pytest.approx(0.1)
    decision = on.at(15)
    assert (on.node.status.phase, decision.requeue_after) == ("silent", 45)
    assert on.said() == ("Unknown", "Silent", "is silent; without a heartbeat for 60 s it is lost")
    assert on.said("Schedulable") == ("False", "Unreachable", "is not heard of")
    assert decision.blocks == (Block("node-a", "unreachable"),)
    assert decision.wake == (Ref("pool", "local"), JOB)
    assert (on.at(59).blocks, on.node.status.phase) == ((), "silent")
    decision = on.at(60)
    assert (on.node.status.phase, on.node.status.lost_at, decision.requeue_after) == ("lost", NOW + 60, None)
    assert on.said() == ("False", "Lost", "is lost: its agent is not heard. Start it again, or rmctl node lost node-a")
    assert (decision.wake, [e.type for e in decision.events]) == ((Ref("pool", "local"), JOB), ["NodeStopped"])
    on.facts = facts(NOW + 70)
    decision = on.at(71)
    status = on.node.status
    assert (status.phase, status.silent_since, status.lost_at) == ("running", None, None)
    assert decision.blocks == (Unblock("node-a", "unreachable"),)
    assert decision.wake == (Ref("pool", "local"), JOB)


def test_a_healthy_node_rests_and_one_that_may_be_silent_soon_does_not() -> None:
    """One look a second finds the silent among all nodes (controllers/runtime/hearing.py)."""
    on = NodeStage(facts=replace(facts(), silent_seconds=15))
    assert on.run().requeue_after == 60
    assert on.at(13.5).requeue_after == 60
    assert on.at(14.5).requeue_after == pytest.approx(0.5)
    on.facts = replace(facts(NOW + 14.5, connected=False), silent_seconds=15)
    assert on.at(14.5).requeue_after == 15


def test_a_node_of_a_pool_that_became_more_patient_watches_for_itself_once_it_was_told_to_be_silent() -> None:
    on = NodeStage(facts=replace(facts(), silent_seconds=15), pool={"disconnect": {"silentSeconds": 30}})
    on.run()
    assert on.at(15.5).requeue_after == 14.5
    assert on.node.status.phase == "running"


def test_a_silence_that_is_seen_a_little_late_is_no_longer_for_it() -> None:
    on = NodeStage()
    on.run()
    decision = on.at(15.9)
    assert (on.node.status.silent_since, decision.requeue_after) == (NOW + 15, pytest.approx(44.1))


def test_pools_set_their_own_limits() -> None:
    on = NodeStage(pool={"disconnect": {"silentSeconds": 2, "lostSeconds": 5}})
    on.run()
    on.at(2)
    assert on.node.status.phase == "silent"
    on.at(5)
    assert on.node.status.phase == "lost"


def test_a_pool_that_became_less_patient_waits_for_a_node_as_long_as_it_promised() -> None:
    """The fences there were told so, and nobody can tell them better while the node is away."""
    on = NodeStage(
        facts=replace(facts(), lost_seconds=60), pool={"disconnect": {"silentSeconds": 2, "lostSeconds": 25}}
    )
    on.run()
    on.at(2)
    assert on.at(59).requeue_after == 1
    assert on.said("Ready") == ("Unknown", "Silent", "is silent; without a heartbeat for 60 s it is lost")
    on.at(60)
    assert on.node.status.phase == "lost"


def test_a_pool_that_became_less_patient_calls_nobody_silent_between_two_heartbeats_as_it_asked_for() -> None:
    on = NodeStage(
        facts=replace(facts(), silent_seconds=15), pool={"disconnect": {"silentSeconds": 2, "lostSeconds": 25}}
    )
    on.run()
    assert on.at(14).requeue_after == 1
    assert on.node.status.phase == "running"
    on.at(15)
    assert on.node.status.phase == "silent"


def test_a_node_is_seen_silent_for_a_while_before_it_is_lost_whatever_the_clock_does() -> None:
    """A jump of the clock makes every node look old at once; the agents get the time to speak."""
    on = NodeStage()
    on.run()
    decision = on.at(5000)
    assert (on.node.status.phase, decision.requeue_after) == ("silent", 45)
    on.facts = facts(NOW + 5003)
    on.at(5004)
    assert on.node.status.phase == "running"


def test_nothing_is_silent_or_lost_before_the_server_has_been_up_that_long() -> None:
    on = NodeStage(started=NOW + 100)
    on.run()
    on.at(114)
    assert on.node.status.phase == "running"
    on.at(115)
    assert on.node.status.phase == "silent"
    on.at(159)
    assert on.node.status.phase == "silent"
    on.at(160)
    assert on.node.status.phase == "lost"


@pytest.mark.parametrize(("after", "phase"), [(15, "silent"), (60, "lost")])
def test_a_server_restart_teaches_nothing_about_a_silent_node(after: float, phase: str) -> None:
    """A start counts every heartbeat from then on, and nobody is connected yet."""
    on = NodeStage()
    for seconds in (0, 15, after):
        on.at(seconds)
    on.started = NOW + after + 1
    on.facts = facts(on.started, connected=False)
    decision = on.at(after + 2)
    assert (on.node.status.phase, decision.events, decision.wake) == (phase, (), ())


def test_the_brake_keeps_silent_nodes_from_being_lost() -> None:
    on = NodeStage(others=Silence(10, ("b", "c")))
    on.run()
    on.at(15)
    decision = on.at(60)
    assert (on.node.status.phase, decision.requeue_after) == ("silent", 5)
    assert on.said() == (
        "Unknown",
        "Silent",
        "is silent, and not declared lost: 3 of 10 nodes of pool local are silent",
    )
    on.others = Silence(10, ("b",))
    on.at(65)
    assert on.node.status.phase == "lost"


@pytest.mark.parametrize(
    ("nodes", "silent", "holds"),
    [(10, 3, True), (10, 2, False), (15, 3, False), (16, 4, True), (3, 3, True), (2, 2, False), (20, 4, False)],
)
def test_the_brake_needs_more_than_a_fifth_and_three(nodes: int, silent: int, holds: bool) -> None:
    rules = PoolSpec.model_validate(a_pool()).brake
    assert Silence(nodes, tuple(str(n) for n in range(silent))).holds(rules) is holds


def test_a_persons_word_makes_a_silent_node_lost_for_good() -> None:
    on = NodeStage(others=Silence(10, ("b", "c")))
    for seconds in (0, 15):
        on.at(seconds)
    on.facts = facts(connected=False)
    on.node = replace(on.node, annotations={"rmctl/lost": "1970-01-12T13:47:00Z"})
    on.at(25)
    assert (on.node.status.phase, on.node.status.given_up) == ("lost", True)
    assert on.said() == ("False", "Lost", "is lost, and given up")
    on.facts = facts(NOW + 90)
    on.at(91)
    assert (on.node.status.phase, on.node.status.given_up) == ("running", False)


def test_a_persons_word_counts_at_once_though_the_stream_of_a_silent_node_still_looks_open() -> None:
    on = NodeStage()
    for seconds in (0, 15):
        on.at(seconds)
    on.node = replace(on.node, annotations={"rmctl/lost": "1970-01-12T13:47:00Z"})
    on.at(20)
    assert (on.node.status.phase, on.node.status.given_up) == ("lost", True)
    on.facts = facts(NOW + 25)
    on.at(25)
    assert (on.node.status.phase, on.node.status.given_up) == ("running", False)


@pytest.mark.parametrize("word", ["1970-01-12T13:46:00Z", "yesterday", ""])
def test_a_word_from_before_the_last_heartbeat_or_no_time_at_all_is_void(word: str) -> None:
    on = NodeStage()
    for seconds in (0, 15):
        on.at(seconds)
    on.node = replace(on.node, annotations={"rmctl/lost": word})
    on.at(25)
    assert on.node.status.phase == "silent"


@pytest.mark.req("F246", "F247")
def test_a_cordon_is_told_with_its_reason_and_the_way_back() -> None:
    on = NodeStage(a_node(cordoned=True, cordonReason="kernel update"))
    decision = on.run()
    assert on.said("Schedulable") == ("False", "Cordoned", "is cordoned: kernel update; rmctl uncordon node-a opens it")
    assert on.said() == ("True", "Connected", "is connected, 0 of 4 vcpu claimed, 0 jobs")
    assert (decision.blocks, [(r.reason, r.by) for r in on.node.status.no_schedule]) == ((), [("cordoned", "spec")])


def test_a_dedicated_node_is_closed_to_others() -> None:
    on = NodeStage(a_node(taints=[{"key": "dedicated", "value": "acme"}]))
    assert on.run().blocks == (Block("node-a", "dedicated=acme"),)
    assert on.said("Schedulable") == ("False", "Dedicated", "takes jobs of acme only")
    on.node = replace(a_node(), status=on.node.status)
    assert on.run().blocks == (Unblock("node-a", "dedicated=acme"),)


def test_rows_keep_the_instant_they_began() -> None:
    on = NodeStage()
    on.run()
    on.at(15)
    on.at(30)
    assert [(r.reason, r.since) for r in on.node.status.no_schedule] == [("unreachable", NOW + 15)]


def test_a_machine_of_a_cloud_waits_for_a_provider() -> None:
    on = NodeStage(a_node(provider="aws"), facts=None)
    on.run()
    assert on.said() == ("False", "Booting", "waits for a provider, and this version provisions no machines")


def test_rows_that_others_wrote_are_told_with_their_own_and_close_the_node() -> None:
    on = NodeStage(rows=[NoSchedule(reason="draining", by="drain/node-a", since=NOW - 5)])
    assert on.run().blocks == ()
    assert on.node.status.no_schedule == (NoSchedule(reason="draining", by="drain/node-a", since=NOW - 5),)
    assert on.said("Schedulable") == ("False", "Closed", "takes no new jobs: draining (drain/node-a)")
    on.rows.append(NoSchedule(reason="cordoned", by="interruption/node-a", since=NOW))
    on.node = replace(on.node, spec=on.node.spec.model_copy(update={"cordoned": True}))
    on.rows.append(NoSchedule(reason="cordoned", by="spec", since=NOW))
    on.run()
    assert [(row.reason, row.by) for row in on.node.status.no_schedule] == [
        ("cordoned", "spec"),
        ("cordoned", "interruption/node-a"),
        ("draining", "drain/node-a"),
    ]


@pytest.mark.req("F192")
def test_a_spare_that_took_a_job_is_an_ordinary_node_for_good() -> None:
    on = NodeStage(a_node(spare={"reservedFor": ["live"]}))
    on.run()
    assert on.node.status.spare == SpareStatus(consumed=False)
    on.claims = [a_claim()]
    on.run()
    on.claims = []
    on.run()
    assert on.node.status.spare == SpareStatus(consumed=True)
    on.node = replace(a_node(), status=on.node.status)
    on.run()
    assert on.node.status.spare is None


SINGLE = "ch/primary/web"


@pytest.mark.req("F98", "F100")
def test_a_machine_that_was_taken_for_one_job_goes_with_it_once() -> None:
    on = NodeStage(a_node(provider="aws"), claims=[a_claim()], single_use=(SINGLE,))
    assert on.run().effects == ()
    on.claims, on.single_use = [], ()
    decision = on.at(5)
    assert [(effect.kind, effect.provider, effect.target) for effect in decision.effects] == [
        ("Terminate", "aws", "node-a")
    ]
    assert [(event.type, event.message) for event in decision.events] == [
        ("NodeTerminated", "singleUse: ch/primary/web has left")
    ]
    assert decision.blocks == (Block("node-a", "terminating"),)
    assert on.said("Schedulable") == ("False", "Terminating", "its machine is being ended")
    again = on.at(6)
    assert (again.effects, again.events) == (decision.effects, ())


@pytest.mark.req("F99")
def test_a_machine_that_registered_itself_is_never_ended() -> None:
    on = NodeStage(claims=[a_claim()], single_use=(SINGLE,))
    on.run()
    on.claims, on.single_use = [], ()
    decision = on.run()
    assert (decision.effects, decision.blocks, on.node.status.terminate) == ((), (), None)
    assert on.said("Schedulable") == ("True", "Open", "takes new jobs")


@pytest.mark.req("F101", "FA17")
def test_the_machine_waits_for_the_last_of_the_group() -> None:
    """However the job left: its peers may still be there."""
    peer = replace(a_claim(), id="v.1.1", owner=Ref("job", "ch.primary.side", "default"))
    on = NodeStage(a_node(provider="aws"), claims=[a_claim(), peer], single_use=(SINGLE,))
    on.run()
    on.claims, on.single_use = [peer], ()
    assert (on.run().effects, on.node.status.terminate) == ((), None)
    on.claims = []
    assert [effect.kind for effect in on.run().effects] == ["Terminate"]


def test_a_machine_of_many_jobs_stays_when_they_have_left() -> None:
    on = NodeStage(a_node(provider="aws"), claims=[a_claim()])
    on.run()
    on.claims = []
    assert on.run().effects == ()
