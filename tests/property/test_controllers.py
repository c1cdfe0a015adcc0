"""Laws of the controllers of bundles, nodes and pools: the same inputs say the same, and what is settled stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.brake import Silence
from controllers.node import NodeController, NodeView
from controllers.runtime.decision import Apply, Block, Decision, Facts
from resources.facts import Inventory, NodeFacts
from resources.node import Node, NodeSpec, NodeStatus, NoSchedule
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reference import Ref
from tests.builders import a_job_entry, a_pool
from tests.controllers_bundle import BundleStage

NOW = 1_000_000.0
READY = {
    "running": (True, "Running"),
    "starting": (False, "Starting"),
    "pending": (False, "NoFit"),
    "backoff": (False, "CrashLooping"),
    "dormant": (True, "Dormant"),
    "completed": (True, "Completed"),
    "dropped": (False, "Dropped"),
}
moves = st.lists(st.tuples(st.sampled_from(sorted(READY)), st.integers(0, 3), st.booleans()), max_size=12)
entries = [a_job_entry("a"), a_job_entry("b", requirements={"essential": False})]
changes = st.sampled_from(
    [{}, {"priority": 1}, {"restartedAt": "2026-01-01T00:00:00Z"}, {"jobs": [a_job_entry("a", command=["new"])]}]
)


@settings(max_examples=200, deadline=None)
@given(moves=moves, change=changes, strategy=st.sampled_from(["backupFirst", "allAtOnce"]))
def test_a_bundle_writes_until_its_jobs_are_as_they_should_be_and_no_more(
    moves: list[tuple[str, int, bool]], change: dict[str, Any], strategy: str
) -> None:
    """And the mark of a broken bundle is never without a job that broke it."""
    on = BundleStage.of(*entries, resiliencePolicy={}, update={"strategy": strategy}).up()
    for phase, number, seen in moves:
        name = sorted(on.jobs)[number % len(on.jobs)]
        terminal = "RestartCeiling: exit 1; no restart is allowed" if phase == "dropped" else None
        on.job(name, phase, READY[phase], terminal=terminal)
        if seen:
            on.seen()
        on.run()
    on.change(**change)
    for _ in range(3):
        on.run()
    decision = on.run()
    assert (decision.children, decision.events) == ((), ())
    broken = on.bundle.status.broken
    assert (broken is not None) == (on.bundle.status.state == "broken")
    if broken is not None:
        assert any(job.status.terminal for job in on.jobs.values())
        assert all(job.spec.placing_stopped for job in on.jobs.values() if not job.deleting)


@settings(max_examples=100, deadline=None)
@given(moves=moves)
def test_a_backup_first_roll_out_never_takes_a_serving_primary_before_its_backup_is_ready(
    moves: list[tuple[str, int, bool]],
) -> None:
    on = BundleStage.of(a_job_entry("a"), resiliencePolicy={}).up()
    on.change(a_job_entry("a", command=["new"]))
    for phase, number, seen in moves:
        primary, backup = on.jobs["ch.primary.a"], on.jobs["ch.backup.a"]
        serves = primary.status.phase == "running" and primary.spec.command != ("new",)
        arrived = backup.spec.command == ("new",) and backup.status.phase in ("running", "dormant", "completed")
        for child in on.run().children:
            if isinstance(child, Apply) and child.ref.name == "ch.primary.a" and child.spec["command"] == ["new"]:
                assert not serves or arrived
        on.job(sorted(on.jobs)[number % 2], phase, READY[phase])
        if seen:
            on.seen()


beats = st.lists(st.tuples(st.sampled_from([1.0, 5.0, 16.0, 50.0]), st.booleans(), st.booleans()), max_size=12)


def carried_out(blocks: tuple[NoSchedule, ...], decision: Decision, now: float) -> tuple[NoSchedule, ...]:
    """The rows against scheduling as the commit leaves them."""
    rows = {(row.reason, row.by): row for row in blocks}
    for change in decision.blocks:
        if isinstance(change, Block):
            rows[change.reason, change.cause] = NoSchedule(reason=change.reason, by=change.cause, since=now)
        else:
            del rows[change.reason, change.cause]
    return tuple(rows.values())


@settings(max_examples=200, deadline=None)
@given(beats=beats, silent=st.integers(0, 3), restart=st.integers(0, 12))
def test_a_node_is_lost_only_after_silence_and_without_the_brake(
    beats: list[tuple[float, bool, bool]], silent: int, restart: int
) -> None:
    """Whoever restarts the server meanwhile, and a settled node stays as it is."""
    spec = PoolSpec.model_validate(a_pool())
    pool = Pool(Ref("pool", "local"), "p", 1, 1, spec, PoolStatus())
    node = Node(Ref("node", "n"), "n", 1, 1, NodeSpec(pool="local"), NodeStatus())
    others = Silence(4, tuple(str(n) for n in range(silent)))
    now, heard, started, connected = NOW, NOW, 0.0, True
    blocks: tuple[NoSchedule, ...] = ()
    for number, (seconds, beat, cut) in enumerate(beats):
        now += seconds
        if number == restart:
            started, heard, connected = now, now, False
        elif beat:
            heard, connected = now, True
        elif cut:
            connected = False
        facts = NodeFacts("n", "b", Inventory(4000, 4), heard, connected=connected)
        view = NodeView(facts=facts, pool=pool, silence=others, server_started_at=started, blocks=blocks)
        decision = NodeController().decide(node, view, Facts(now=now))
        blocks = carried_out(blocks, decision, now)
        view = replace(view, blocks=blocks)
        status = decision.status
        assert isinstance(status, NodeStatus)
        if status.phase == "lost" and node.status.phase != "lost":
            assert node.status.phase == "silent"
            assert now - max(heard, started) >= 60
            assert silent < 2, "three of four: the brake holds"
        if status.phase == "running":
            assert now - max(heard, started) < 15
        node = replace(node, status=status)
        again = NodeController().decide(node, view, Facts(now=now))
        assert (again.status, again.blocks, again.events, again.wake) == (status, (), (), ())
