"""Passes over a real store: one commit, reruns, failures, lost races."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog

from controllers.runtime.controller import Reader
from controllers.runtime.decision import Apply, Decision, Delete, Facts, Release, Reserve, Room
from controllers.runtime.effects import EffectWorkers
from controllers.runtime.fleet import Fleet
from controllers.runtime.passes import Passes
from controllers.scheduling import Scheduling
from resources.allocation import Allocation
from resources.conditions import condition
from resources.effect import EFFECTS_FINALIZER, Absent, Applied, Deferred, Effect, Rejected, Unknown
from resources.event import CHRONICLE, Event
from resources.pool import Pool, PoolStatus
from resources.reference import Ref
from store import effects, events, ledger, queue, resources
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

READY = PoolStatus(conditions=(condition("Ready", True, "HasCapacity"),))
START = Effect("StartJob", "start/1/1", "agents", {"x": 1}, target="n")


class Scripted:
    """A controller whose decision the test writes."""

    kind = "pool"
    places = False

    def __init__(self) -> None:
        self.decision: Callable[[Pool, Facts], Decision] = lambda _r, _f: Decision(READY)
        self.during: Callable[[], object] = lambda: None
        self.seen: list[Facts] = []

    def observe(self, resource: Pool, reader: Reader) -> None:
        return None

    def decide(self, resource: Pool, view: None, facts: Facts) -> Decision:
        self.seen.append(facts)
        self.during()
        return self.decision(resource, facts)


class Driver:
    """A provider whose answers the test writes; every touch is noted with the record's state at that moment."""

    provider = "agents"
    creates = frozenset({"StartJob"})

    def __init__(self, store: Store) -> None:
        self.store = store
        self.observed: object = Absent()
        self.applied: object = Applied("i-1")
        self.calls: list[str] = []
        self.states: list[str] = []

    def observe(self, effect, reader):
        self.calls.append("observe")
        return self._say(self.observed)

    def apply(self, effect):
        self.calls.append("apply")
        with self.store.read() as tx:
            self.states.append(effects.find(tx, effect.uid, effect.key).state)
        return self._say(self.applied)

    def _say(self, answer):
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def world(tmp_path: Path):
    clock = Clocked()
    store = Store.open(tmp_path, clock)
    fleet = Fleet(store)
    fleet.hydrate()
    controller = Scripted()
    passes = Passes(store, fleet, clock, {"pool": controller}, started_at=1000.0)
    driver = Driver(store)
    workers = EffectWorkers(store, fleet, clock, driver, started_at=1000.0)
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    yield SimpleNamespace(
        clock=clock, store=store, fleet=fleet, controller=controller, passes=passes, driver=driver, workers=workers
    )
    store.close()


def claim(world):
    return world.store.write(lambda tx: queue.claim(tx, limit=1, token=world.clock.token, backoff=lambda n: 2.0**n))


def run(world) -> None:
    """One pass over the key, which must be due."""
    (held,) = claim(world)
    world.passes.run(held)


def attempt(world) -> None:
    """One attempt at the due effect."""
    (held,) = world.store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=world.clock.token))
    world.workers.run(held)


def pool(world):
    with world.store.read() as tx:
        return resources.find(tx, POOL)


def row(world):
    with world.store.read() as tx:
        rows = queue.list_all(tx)
    return rows[0] if rows else None


def effect(world):
    uid = pool(world).uid
    with world.store.read() as tx:
        return effects.find(tx, uid, "start/1/1")


def told(world) -> list[str]:
    with world.store.read() as tx:
        return [event.type for event in events.list_for(tx, POOL, without=CHRONICLE)]


@pytest.mark.req("CM2")
def test_ten_wakes_are_one_pass(world) -> None:
    for _ in range(10):
        world.store.write(lambda tx: queue.enqueue(tx, POOL))
    run(world)
    assert (len(world.controller.seen), row(world)) == (1, None)


@pytest.mark.req("T52")
def test_everything_a_pass_decides_is_one_commit(world) -> None:
    world.store.write(lambda tx: ledger.set_room(tx, "n", "local", {"vcpu": (1000, 1000)}))
    uid = pool(world).uid
    claimed = Allocation("a", uid, Ref("job", "b.primary.w", "default"), "i", "local", "n", 1000)
    child = Ref("template", "t", "default")
    world.controller.decision = lambda _r, _f: Decision(
        READY,
        children=(Apply(child, {"images": ["x"]}),),
        claims=(Reserve(claimed),),
        effects=(START,),
        events=(Event("JobUpdated", "hello"),),
    )
    (held,) = claim(world)
    before = world.store.writer.commits
    world.passes.run(held)
    assert world.store.writer.commits - before == 1
    with world.store.read() as tx:
        assert resources.find(tx, child).owner == uid
        assert ledger.list_allocations(tx) == (claimed,)
    assert (effect(world).state, told(world), pool(world).status.observed_generation) == ("pending", ["JobUpdated"], 1)
    assert pool(world).finalizers == (EFFECTS_FINALIZER,)


def test_a_guard_that_answers_short_stores_nothing_and_excludes_the_node(world) -> None:
    claimed = Allocation("a", "u", Ref("job", "b.primary.w", "default"), "i", "local", "n", 1000)

    def decide(_resource, facts):
        if facts.excluded:
            return Decision(PoolStatus(conditions=(condition("Ready", False, "NoFit", facts.excluded["n"]),)))
        return Decision(READY, claims=(Reserve(claimed),), effects=(START,))

    world.controller.decision = decide
    run(world)
    assert [dict(facts.excluded) for facts in world.controller.seen] == [{}, {"n": "vcpu on n ran out"}]
    assert (effect(world), pool(world).status.conditions[0].message) == (None, "vcpu on n ran out")
    assert world.fleet.view.claim("a") is None


@pytest.mark.req("P124", "P126", "P17")
@pytest.mark.parametrize("most", [1, 3, 5])
def test_after_so_many_lost_races_the_key_says_so_and_is_due_at_once(world, most: int) -> None:
    world.fleet.scheduling = Scheduling(max_attempts=most)
    names = iter("abcdefg")

    def decide(_resource, facts):
        if facts.conflicts:
            said = f"{facts.conflicts}: {list(facts.excluded)}"
            return Decision(PoolStatus(conditions=(condition("Ready", False, "NoFit", said),)), requeue_after=0.0)
        node = next(names)
        claimed = Allocation(node, "u", Ref("job", "b.primary.w", "default"), "i", "local", node, 1000)
        return Decision(READY, claims=(Reserve(claimed),))

    world.controller.decision = decide
    run(world)
    assert pool(world).status.conditions[0].message == f"{most}: {list('abcdefg')[:most]}"
    assert (len(world.controller.seen), row(world).available_at, row(world).errors) == (most + 1, 1000.0, 0)


def test_a_controller_that_does_not_stop_looking_is_due_at_once_too(world) -> None:
    claimed = Allocation("a", "u", Ref("job", "b.primary.w", "default"), "i", "local", "n", 1000)
    world.controller.decision = lambda _r, _f: Decision(READY, claims=(Reserve(claimed),))
    run(world)
    assert (len(world.controller.seen), row(world).available_at, row(world).errors) == (4, 1000.0, 0)


@pytest.mark.req("T7", "P20", "P21")
def test_a_spec_change_during_a_pass_discards_it(world) -> None:
    def change() -> None:
        world.controller.during = lambda: None
        world.store.write(lambda tx: resources.replace(tx, pool(world), document=a_pool(maxRestartsPerHour=1)))

    world.controller.during = change
    run(world)
    assert (pool(world).generation, pool(world).status.observed_generation, effect(world)) == (2, 0, None)
    run(world)
    assert pool(world).status.observed_generation == 2


@pytest.mark.req("T9")
def test_a_status_that_is_not_given_is_kept_and_none_says_that_nothing_is_known(world) -> None:
    """Conditions are the resource's own, and stay; the generation that was looked at is told in either case."""
    known = PoolStatus(node_count=3, conditions=(condition("Ready", True, "HasCapacity", "fine"),))
    decisions = iter([Decision(known), Decision(), Decision(None)])
    world.controller.decision = lambda _r, _f: next(decisions)
    stored = []
    for ceiling in (1, 2, 3):
        world.store.write(
            lambda tx, ceiling=ceiling: resources.replace(tx, pool(world), document=a_pool(maxRestartsPerHour=ceiling))
        )
        run(world)
        status = pool(world).status
        stored.append((status.node_count, status.observed_generation, [one.reason for one in status.conditions]))
    assert stored == [(3, 2, ["HasCapacity"]), (3, 3, ["HasCapacity"]), (0, 4, ["HasCapacity"])]


@pytest.mark.req("T21")
def test_a_wake_during_a_pass_is_not_lost(world) -> None:
    world.controller.during = lambda: world.store.write(lambda tx: queue.enqueue(tx, POOL))
    run(world)
    assert row(world).available_at == 1000.0


@pytest.mark.req("T19", "T37")
def test_a_pass_whose_claim_ran_out_writes_nothing(world) -> None:
    """It can put down no new effect either."""

    def expire() -> None:
        world.clock.time += 120.0

    world.controller.during = expire
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,), events=(Event("JobUpdated", "x"),))
    run(world)
    assert (effect(world), told(world), pool(world).status.conditions) == (None, [], ())


@pytest.mark.req("T19")
def test_a_failure_after_the_claim_ran_out_is_not_the_late_pass_to_write(world) -> None:
    """Neither the error nor the retry; both are the next claimer's."""

    def fail(_resource, _facts):
        world.clock.time += 120.0
        raise RuntimeError("broken, and late")

    world.controller.decision = fail
    (held,) = claim(world)
    before = row(world)
    world.passes.run(held)
    assert (row(world), told(world)) == (before, [])
    assert (claim(world), row(world).errors) == ((), 1)


@pytest.mark.req("T8", "T23")
@pytest.mark.parametrize(
    "decision",
    [
        Decision(PoolStatus(conditions=(condition("Ready", True, "A"), condition("Ready", True, "B")))),
        Decision(PoolStatus(conditions=(condition("Ready", True, "A", "x" * (1024 * 1024)),))),
        Decision(READY, events=(Event("JobUpdated", "x", payload={"x": "y" * (64 * 1024)}),)),
        Decision(READY, effects=(START, Effect("StopJob", START.key, "agents", {}))),
    ],
    ids=["a condition twice", "an oversized status", "an oversized event", "one key for two effects"],
)
def test_a_result_that_cannot_be_taken_is_an_error_and_nothing_of_it_is_stored(world, decision) -> None:
    before = pool(world)
    for expected in (1, 2):
        world.controller.decision = lambda _r, _f: decision
        world.clock.time = row(world).available_at
        run(world)
        assert (row(world).errors, effect(world)) == (expected, None)
    (ready,) = pool(world).status.conditions
    assert (before.status.conditions, ready.reason, told(world)) == ((), "ReconcileFailed", ["ReconcileFailed"])
    world.controller.decision = lambda _r, _f: Decision(READY, requeue_after=5.0)
    world.clock.time = row(world).available_at
    run(world)
    assert row(world).errors == 0


@pytest.mark.req("T23")
def test_a_stop_gives_back_what_was_claimed_and_not_begun_and_counts_no_failure(world) -> None:
    world.store.write(lambda tx: resources.create(tx, Ref("pool", "other"), a_pool()))
    world.passes._crew._ready.extend(claim(world))
    world.passes.stop()
    with world.store.read() as tx:
        rows = {(one.name, one.errors, one.expires_at, one.available_at) for one in queue.list_all(tx)}
    assert rows == {("local", 0, None, 1000.0), ("other", 0, None, 1000.0)}


@pytest.mark.req("T23", "T55")
def test_a_raising_pass_backs_off_and_says_so_once(world) -> None:
    def fail(_resource, _facts):
        raise RuntimeError("broken")

    world.controller.decision = fail
    for expected in (1, 2, 3):
        run(world)
        assert row(world).errors == expected
        world.clock.time = row(world).available_at
    with world.store.read() as tx:
        assert [(e.type, e.count) for e in events.list_for(tx, POOL, without=CHRONICLE)] == [("ReconcileFailed", 3)]


@pytest.mark.req("CM4")
def test_a_delay_is_kept(world) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, requeue_after=30.0)
    run(world)
    assert row(world).available_at == 1030.0


def test_a_decision_not_to_place_is_refused_when_room_was_gained_meanwhile(world) -> None:
    revision = world.fleet.capacity_revision("local")

    def gain() -> None:
        world.controller.during = lambda: None
        world.store.write(lambda tx: resources.create(tx, Ref("node", "n"), {"pool": "local"}))
        world.store.write(lambda tx: ledger.set_room(tx, "n", "local", {"vcpu": (1000, 1000)}))

    world.controller.during = gain
    seen = []

    def decide(_resource, _facts):
        seen.append(world.fleet.capacity_revision("local"))
        return Decision(READY, no_place_since=("local", revision if len(seen) == 1 else seen[-1]))

    world.controller.decision = decide
    run(world)
    assert len(seen) == 2


def test_children_keep_what_others_set_and_lose_what_is_no_longer_applied(world) -> None:
    child = Ref("template", "t", "default")
    decisions = iter(
        [
            Decision(READY, children=(Apply(child, {"images": ["a"], "image": "i"}, initial={"workingDir": "x"}),)),
            Decision(READY, children=(Apply(child, {"images": ["a"]}, initial={"workingDir": "y"}),)),
            Decision(READY, children=(Delete(child),)),
        ]
    )
    world.controller.decision = lambda _r, _f: next(decisions)

    def document():
        with world.store.read() as tx:
            found = resources.find(tx, child)
            return None if found is None else found.document

    documents = []
    for _ in range(3):
        world.store.write(lambda tx: queue.remove(tx, child))
        world.store.write(lambda tx: queue.enqueue(tx, POOL))
        run(world)
        documents.append(document())
    assert documents == [{"images": ["a"], "image": "i", "workingDir": "x"}, {"images": ["a"], "workingDir": "x"}, None]


def test_room_and_releases_reach_the_fleet_view_with_the_commit(world) -> None:
    world.store.write(lambda tx: resources.create(tx, Ref("node", "n"), {"pool": "local"}))
    world.store.write(lambda tx: queue.remove(tx, Ref("node", "n")))
    claimed = Allocation("a", "u", Ref("job", "b.primary.w", "default"), "i", "local", "n", 400)
    decisions = iter(
        [
            Decision(READY, rooms=(Room("n", "local", {"vcpu": (1000, 1000)}),), claims=(Reserve(claimed),)),
            Decision(READY, claims=(Release("a"),)),
        ]
    )
    world.controller.decision = lambda _r, _f: next(decisions)
    free = []
    for _ in range(2):
        world.store.write(lambda tx: queue.enqueue(tx, POOL))
        run(world)
        free.append(world.fleet.view.node("n").free.capacity_milli)
    rebuilt = Fleet(world.store)
    rebuilt.hydrate()
    assert (free, world.fleet.view == rebuilt.view) == ([600, 1000], True)


@pytest.mark.req("T30", "T33", "CF1")
def test_the_record_is_durable_before_the_first_call_and_nothing_is_observed(world) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,))
    run(world)
    attempt(world)
    assert (world.driver.calls, world.driver.states, effect(world).state) == (["apply"], ["pending"], "applied")
    assert row(world).name == "local"


@pytest.mark.req("T33", "T34", "CF3")
@pytest.mark.parametrize(
    ("observed", "calls", "state", "event"),
    [
        (Applied("i-9"), ["observe"], "applied", "EffectRecovered"),
        (Absent(), ["observe", "apply"], "applied", None),
        (Unknown("silent"), ["observe"], "indeterminate", "EffectIndeterminate"),
    ],
)
def test_a_later_attempt_observes_first(world, observed, calls, state, event) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,))
    run(world)
    world.store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=world.clock.token))
    world.clock.time += effects.LEASE_SECONDS
    world.driver.observed = observed
    attempt(world)
    assert (world.driver.calls, effect(world).state) == (calls, state)
    assert (event in told(world)) is (event is not None)


@pytest.mark.req("T34", "CF5")
def test_an_observation_that_raises_leaves_the_record(world) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,))
    run(world)
    world.store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=world.clock.token))
    world.clock.time += effects.LEASE_SECONDS
    world.driver.observed = RuntimeError("no answer")
    attempt(world)
    assert (world.driver.calls, effect(world).state, told(world)) == (["observe"], "pending", ["EffectObserveFailed"])


@pytest.mark.req("T35")
@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        (Rejected("full", "JOB_REJECTED_NO_CAPACITY"), "rejected", "full"),
        (Deferred("throttled", 9.0), "pending", "throttled"),
        (Unknown("timed out"), "indeterminate", "timed out"),
        (RuntimeError("boom"), "indeterminate", "RuntimeError: boom"),
    ],
)
def test_what_apply_says_or_raises_is_stored(world, answer, state, words) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,))
    run(world)
    world.driver.applied = answer
    attempt(world)
    assert (effect(world).state, effect(world).error) == (state, words)


@pytest.mark.req("T37")
def test_an_effect_that_ends_after_its_claim_was_lost_is_looked_for_by_the_next_owner(world) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,))
    run(world)
    (late,) = world.store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=world.clock.token))
    world.clock.time += effects.LEASE_SECONDS
    world.workers.run(late)
    assert (effect(world).state, effect(world).external_ref) == ("pending", None)
    world.driver.observed = Applied("i-1")
    attempt(world)
    assert (world.driver.calls, effect(world).state, effect(world).external_ref) == (
        ["apply", "observe"],
        "applied",
        "i-1",
    )


@pytest.mark.req("T39")
def test_independent_effects_of_one_decision_have_a_record_each(world) -> None:
    """Of a built-in controller; they are claimed, tried and answered apart."""
    other = Effect("StartJob", "start/1/2", "agents", {"x": 2}, target="m")
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START, other))
    run(world)
    first, second = world.store.write(lambda tx: effects.claim(tx, "agents", limit=2, token=world.clock.token))
    world.workers.run(first)
    world.driver.applied = Deferred("throttled", 9.0)
    world.workers.run(second)
    with world.store.read() as tx:
        told = {record.key: (record.state, record.attempts) for record in effects.of(tx, pool(world).uid)}
    assert told == {"start/1/1": ("applied", 1), "start/1/2": ("pending", 1)}


@pytest.mark.req("T33", "T36", "CF4")
def test_a_final_effect_is_returned_and_nothing_is_called(world) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,))
    run(world)
    attempt(world)
    run(world)
    world.clock.time += 1000
    assert world.store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=world.clock.token)) == ()
    assert (world.driver.calls, effect(world).external_ref) == (["apply"], "i-1")


def test_an_effect_never_begun_is_not_made_once_its_owner_is_deleted(world) -> None:
    world.controller.decision = lambda _r, _f: Decision(READY, effects=(START,))
    run(world)
    world.store.write(lambda tx: resources.request_deletion(tx, pool(world)))
    attempt(world)
    with world.store.read() as tx:
        (record,) = effects.list_all(tx)
    assert (record.state, record.code, world.driver.calls) == ("rejected", "cancelled", [])
    run(world)
    assert pool(world) is None


def test_a_dispatcher_runs_what_is_due_and_stops(world) -> None:
    for name in "abcdef":
        world.store.write(lambda tx, name=name: resources.create(tx, Ref("pool", name), a_pool()))
    world.passes.start()
    done = world.clock.signal()
    world.store.subscribe(lambda _notes: done.set())
    while row(world) is not None:
        done.wait(0.05)
        done.clear()
    world.passes.stop()
    with world.store.read() as tx:
        assert {p.status.observed_generation for p in resources.list_all(tx, "pool")} == {1}


@pytest.mark.req("T18", "T55")
def test_every_pass_leaves_one_line_that_tells_what_became_of_it(world) -> None:
    """Settled, put off with its reason, run again after a conflict, failed, and a key whose resource is gone."""

    def fail(_resource, _facts):
        raise RuntimeError("broken")

    waits = PoolStatus(conditions=(condition("Ready", False, "NoNodes"),))
    change = lambda: world.store.write(lambda tx: resources.replace(tx, pool(world), labels={"a": str(pool(world))}))
    steps = [
        (lambda _r, _f: Decision(READY), lambda: None),
        (lambda _r, _f: Decision(waits, requeue_after=30.0), lambda: None),
        (lambda _r, _f: Decision(READY), change),
        (fail, lambda: None),
    ]
    with structlog.testing.capture_logs() as lines:
        for world.controller.decision, world.controller.during in steps:
            world.store.write(lambda tx: queue.enqueue(tx, POOL))
            run(world)
            world.clock.time += 100.0
        world.store.write(lambda tx: resources.strip(tx, pool(world)))
        world.store.write(lambda tx: queue.enqueue(tx, POOL))
        run(world)
    told = [line for line in lines if line["event"] == "pass"]
    assert [line for line in lines if "token-" in repr(line)] == []
    common = [{line.pop("kind"), line.pop("project"), line.pop("name"), line.pop("log_level")} for line in told]
    assert (common, len({line.pop("pass_id") for line in told})) == ([{"pool", "", "local", "info"}] * 5, 5)
    assert all(line.pop("seconds") >= 0.0 for line in told)
    conflict = told[2].pop("reason")
    assert "changed since you read it" in conflict
    assert told == [
        {"event": "pass", "outcome": "settled", "generation": 1},
        {"event": "pass", "outcome": "requeued", "generation": 1, "requeue_after": 30.0, "reason": "NoNodes"},
        {"event": "pass", "outcome": "conflict", "generation": 1},
        {"event": "pass", "outcome": "failed", "generation": 1, "reason": "RuntimeError"},
        {"event": "pass", "outcome": "gone"},
    ]
