"""A node that refuses starts, or ends whatever starts on it, gets no new jobs for a while."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from controllers.node import NodeController
from controllers.nodes.health import Seen
from controllers.runtime.decision import Block, Decision, Unblock
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from resources.effect import CANCELLED, INVALID_SPEC, Applied, Effect, Rejected
from resources.facts import Instance
from resources.node import NodeStatus, Rejection, Unhealthy
from resources.reference import Ref
from store import effects, ledger, nodes, resources
from store.store import Store
from tests.builders import POOL, a_job_entry, a_pool
from tests.clocked import Clocked
from tests.controllers_node import NOW, NodeStage

NO_ROOM = "JOB_REJECTED_NO_CAPACITY: 0 of 1 vcpu free"


def refused(*after: float, job: str = "ch/primary/web") -> list[Rejection]:
    return [Rejection(at=NOW + seconds, job=job, reason=NO_ROOM) for seconds in after]


def seen(refusals: Iterable[Rejection] = (), **more: Any) -> Seen:
    return Seen(tuple(refusals), **more)


def an_end(job: str, after: float, **more: Any) -> Instance:
    fields = {"state": "exited", "code": 1, "at": NOW + after, "ran_seconds": 0.05, **more}
    return Instance(job, f"{job}.1.1", "primary", "node-a", 1, **fields, job=f"{job}.primary.web")


def types(decision: Decision) -> list[str]:
    return [event.type for event in decision.events if event.type.startswith("NodeH") or event.type == "NodeUnhealthy"]


@pytest.mark.req("F398")
def test_one_refusal_marks_nothing_and_is_told() -> None:
    on = NodeStage(health=seen(refused(1)))
    on.at(2)
    assert (on.node.status.unhealthy, on.said("Unhealthy")) == (None, None)
    assert on.node.status.rejections == tuple(refused(1))


@pytest.mark.req("F399", "F401", "S14")
def test_three_refusals_within_five_seconds_keep_new_jobs_away() -> None:
    on = NodeStage(health=seen(refused(1, 3, 6)))
    decision = on.at(6)
    assert decision.blocks == (Block("node-a", "unhealthy"),)
    assert types(decision) == ["NodeUnhealthy"]
    assert decision.wake == (Ref("pool", "local"),)
    until = "It takes no new jobs until one runs here, or until 1970-01-12T13:56:46Z"
    assert on.said("Unhealthy") == ("True", "Rejections", f"refused 3 starts within 5 s: {NO_ROOM}. {until}")
    assert on.said("Schedulable") == ("False", "Unhealthy", "is kept out of placements for now")
    assert on.said() == ("True", "Connected", "is connected, 0 of 4 vcpu claimed, 0 jobs")
    assert decision.requeue_after is not None
    assert on.at(7).events == ()


@pytest.mark.req("F400")
def test_refusals_further_apart_do_not_count_together() -> None:
    on = NodeStage(health=seen(refused(1, 4, 6.5, 9.1)))
    on.at(10)
    assert on.node.status.unhealthy is None
    assert [one.at for one in on.node.status.rejections] == [NOW + 4, NOW + 6.5, NOW + 9.1]


@pytest.mark.req("F44", "F45", "F46")
def test_a_pool_sets_its_own_numbers() -> None:
    rules = {"rejectionEscalationCount": 2, "rejectionBackoffMs": 1000, "unhealthyCooldownMs": 7000}
    on = NodeStage(health=seen(refused(1, 1.9)), pool={"health": rules})
    assert on.at(2).requeue_after == pytest.approx(6.9)
    assert on.node.status.unhealthy is not None
    on.at(8.9)
    assert on.node.status.unhealthy is None


@pytest.mark.req("F402", "F404")
def test_a_job_that_begins_to_run_there_brings_it_back() -> None:
    on = NodeStage(health=seen(refused(1, 2, 3)))
    on.at(3)
    on.health = seen(refused(1, 2, 3), last_run=NOW + 2)
    assert types(on.at(4)) == []
    on.health = seen(refused(1, 2, 3), last_run=NOW + 12)
    decision = on.at(13)
    assert (decision.blocks, types(decision)) == ((Unblock("node-a", "unhealthy"),), ["NodeHealthy"])
    assert on.said("Unhealthy") == ("False", "Healthy", "takes jobs again")
    on.health = seen(refused(1, 2, 3))
    assert types(on.at(14)) == []
    assert on.node.status.unhealthy is None


@pytest.mark.req("F403", "F404")
def test_ten_minutes_bring_it_back_and_what_was_refused_before_counts_no_more() -> None:
    on = NodeStage(health=seen(refused(1, 2, 3)))
    on.at(3)
    assert types(on.at(602)) == []
    assert types(on.at(603)) == ["NodeHealthy"]
    on.health = seen(refused(1, 2, 3, 604))
    on.at(604)
    assert on.node.status.unhealthy is None


def test_a_server_that_was_away_for_the_whole_cool_down_marks_nothing() -> None:
    on = NodeStage(health=seen(refused(1, 2, 3)))
    on.at(700)
    assert on.node.status.unhealthy is None


@pytest.mark.req("S14")
def test_a_node_whose_jobs_end_at_once_and_run_elsewhere_swallows_no_more() -> None:
    ends = [an_end(job, after) for job, after in (("a", 1), ("b", 2), ("c", 3))]
    on = NodeStage(health=seen(ended=ends))
    assert on.at(3).requeue_after == 5
    assert on.node.status.unhealthy is None
    on.health = seen(ended=ends, elsewhere=frozenset("abc"))
    assert on.at(8).blocks == (Block("node-a", "unhealthy"),)
    said = on.said("Unhealthy")
    assert said is not None
    assert said[:2] == ("True", "BlackHole")
    assert "ended 3 jobs at once that run elsewhere: a/primary/web, b/primary/web, c/primary/web" in said[2]
    on.health = replace(on.health, last_ready=NOW + 13)
    assert on.at(14).blocks == (Unblock("node-a", "unhealthy"),)


def test_jobs_that_end_at_once_everywhere_are_not_the_nodes_fault() -> None:
    ends = [an_end(job, 1) for job in "abc"]
    on = NodeStage(health=seen(ended=ends, elsewhere=frozenset("ab")))
    on.at(3)
    assert on.node.status.unhealthy is None
    once = [an_end("a", after) for after in (1, 2, 3)]
    on = NodeStage(health=seen(ended=once, elsewhere=frozenset("a")))
    on.at(3)
    assert on.node.status.unhealthy is None


@pytest.mark.req("FA16")
def test_refusals_of_all_jobs_count_but_those_of_an_invalid_spec_and_what_was_withdrawn(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store.open(tmp_path, Clocked())
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    answers = [
        Rejected("no room", "JOB_REJECTED_NO_CAPACITY"),
        Rejected("taken", "JOB_REJECTED_PORT_TAKEN"),
        Rejected("wrong", INVALID_SPEC),
        Rejected("not wanted", CANCELLED),
        Applied("i"),
        Rejected("said nothing"),
    ]
    for number, answer in enumerate(answers):

        def order(tx, number=number):
            name = Ref("job", f"b{number}.primary.web", "default")
            spec = {"pool": "local", "bundle": f"b{number}", "role": "primary", "index": 0, **a_job_entry()}
            job = resources.create(tx, name, spec)
            effects.record(tx, job, Effect("StartJob", "start/1/1", "agents", {}, target="node-a"))

        store.write(order)
        (claim,) = store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=lambda: "t"))
        store.write(lambda tx, claim=claim, answer=answer: effects.answer(tx, claim, answer))
    with store.read() as tx:
        counted = effects.refused_by(tx, "node-a", 0)
        assert [record.owner.name for record in counted] == ["b0.primary.web", "b1.primary.web", "b5.primary.web"]
        assert effects.refused_by(tx, "node-b", 0) == ()
        assert effects.refused_by(tx, "node-a", tx.now) == ()
    store.close()


def test_a_pass_sees_refusals_ends_and_rows_as_the_store_has_them(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """An end that was asked for, one after a while and one that was ready before are no sign of anything."""
    store = Store.open(tmp_path, Clocked())
    clock = Clocked().now()
    ends = [
        an_end("a", 0, at=clock),
        an_end("b", 0, at=clock, reason="stopped as asked"),
        an_end("c", 0, at=clock, ran_seconds=5),
        an_end("d", 0, at=clock, ready_at=clock - 1),
        an_end("e", 0, at=clock, code=0),
        an_end("f", 0, at=clock, code=None, signal=9),
        an_end("g", 0, at=clock),
    ]
    elsewhere = replace(an_end("a", 0), id="a.1.2", node="node-b", state="ready", at=clock)

    def told(tx):
        resources.create(tx, POOL, a_pool())
        resources.create(tx, Ref("node", "node-a"), {"pool": "local"})
        ledger.block(tx, "node-a", "draining", "drain/node-a")
        for one in (*ends, elsewhere):
            nodes.put_instance(tx, one)

    store.write(told)
    with store.read() as tx:
        view = _observed(store, tx)
    assert [one.uid for one in view.health.ended] == ["a", "f", "g"]
    assert view.health.elsewhere == frozenset("a")
    assert [(row.reason, row.by) for row in view.blocks] == [("draining", "drain/node-a")]
    store.close()


def test_what_lives_on_an_unhealthy_node_is_what_may_bring_it_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store.open(tmp_path, Clocked())
    ref = Ref("node", "node-a")
    ill = NodeStatus(unhealthy=Unhealthy(since=NOW, reason="Rejections", message="refused 3 starts"))
    living = replace(an_end("a", 0), state="running", code=None, started_at=NOW + 3)
    ready = replace(an_end("b", 0), state="ready", code=None, started_at=NOW + 1, ready_at=NOW + 2)

    def told(tx):
        resources.create(tx, POOL, a_pool())
        resources.create(tx, ref, {"pool": "local"})
        for one in (living, ready):
            nodes.put_instance(tx, one)

    store.write(told)
    with store.read() as tx:
        assert _observed(store, tx).health == Seen()
    store.write(lambda tx: resources.replace_status(tx, resources.get(tx, ref), ill))
    with store.read() as tx:
        assert _observed(store, tx).health == Seen(last_run=NOW + 3, last_ready=NOW + 2)
    store.close()


def _observed(store, tx):  # type: ignore[no-untyped-def]
    fleet = Fleet(store)
    fleet.hydrate()
    return NodeController().observe(resources.get(tx, Ref("node", "node-a")), SnapshotReader(tx, fleet, 0.0))
