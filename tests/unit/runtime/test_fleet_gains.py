"""Gains of room: what wakes the jobs of a pool that wait, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controllers.runtime.decision import Decision, Reserve
from controllers.runtime.fleet import Fleet
from controllers.runtime.waker import MOST_WOKEN, wake, woken
from placement import Spare
from resources.allocation import Allocation
from resources.job import JobStatus
from resources.node import NodeStatus, SpareStatus
from resources.pool import PoolStatus
from resources.reference import Ref
from store import ledger, queue, resources
from store.store import Store
from tests.builders import POOL, a_job_entry, a_pool
from tests.clocked import Clocked

JOB = Ref("job", "b.primary.web", "default")
SHAPE = {"instanceType": "m5.xlarge", "totalCapacity": 4, "totalCores": 4}
HELD = Allocation("a", "u", Ref("job", "b.primary.other", "default"), "i", "local", "n", 1000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path, Clocked())
    opened.write(lambda tx: resources.create(tx, POOL, a_pool()))
    opened.write(lambda tx: ledger.set_room(tx, "n", "local", {"vcpu": (1000, 1000)}))
    opened.write(lambda tx: ledger.reserve(tx, HELD))
    yield opened
    opened.close()


def a_fleet(store: Store) -> Fleet:
    fleet = Fleet(store)
    fleet.hydrate()
    return fleet


def a_waiting_job(tx):
    return resources.create(tx, JOB, {"pool": "local", "bundle": "b", "role": "primary", "index": 0, **a_job_entry()})


def test_room_given_back_in_the_commit_that_lets_a_job_wait_is_a_gain_for_it(store: Store) -> None:
    """The job decided on the room before, so whichever of the two writes comes first it must be woken."""
    fleet = a_fleet(store)

    def both(tx):
        ledger.release(tx, "a")
        resources.replace_status(tx, a_waiting_job(tx), JobStatus(phase="pending"))

    store.write(both)
    assert fleet.gained == {"local"}


def test_a_gain_wakes_the_urgent_first_whoever_has_waited_longest(store: Store) -> None:
    """The oldest is woken even behind more urgent ones than a gain wakes, and does not go before them."""

    def wait_(tx, name, since, **spec):
        ref = Ref("job", f"b.primary.{name}", "default")
        document = {"pool": "local", "bundle": "b", "role": "primary", "index": 0, **a_job_entry(name), **spec}
        job = resources.create(tx, ref, document)
        resources.replace_status(tx, job, JobStatus(phase="pending", waiting_since=since))

    def many(tx):
        wait_(tx, "patient", 1.0)
        for number in range(MOST_WOKEN):
            wait_(tx, f"urgent-{number}", 2.0 + number, priority=10)
        wait_(tx, "late", 99.0)

    fleet = a_fleet(store)
    store.write(many)
    told = [ref.name.rpartition(".")[2] for ref in woken(fleet.waiting("local"))]
    assert told == [*(f"urgent-{number}" for number in range(MOST_WOKEN)), "patient"]
    assert woken(()) == []


def test_who_is_woken_together_is_served_in_that_order_whatever_the_queue_held_before(store: Store) -> None:
    jobs = [Ref("job", f"b.primary.{name}", "default") for name in ("late", "middle", "urgent")]
    store.write(lambda tx: [queue.enqueue(tx, ref, tx.now + 30) for ref in jobs])
    store.write(lambda tx: wake(tx, jobs[::-1], []))
    claims = store.write(lambda tx: queue.claim(tx, limit=9, token=lambda: "t", backoff=lambda _: 1.0))
    assert [claim.ref for claim in claims if claim.ref.kind == "job"] == jobs[::-1]


def test_room_that_nobody_waits_for_wakes_nobody(store: Store) -> None:
    fleet = a_fleet(store)
    before = fleet.capacity_revision("local")
    store.write(lambda tx: ledger.release(tx, "a"))
    assert (fleet.gained, fleet.capacity_revision("local") - before) == (set(), 1)


def test_the_gauges_of_a_pool_are_no_gain_of_room(store: Store) -> None:
    fleet = a_fleet(store)
    before = fleet.capacity_revision("local")
    store.write(lambda tx: resources.replace_status(tx, resources.get(tx, POOL), PoolStatus(node_count=3)))
    gauges = fleet.capacity_revision("local")
    wider = a_pool(maxRestartsPerHour=1)
    store.write(lambda tx: resources.replace(tx, resources.get(tx, POOL), document=wider))
    assert (gauges - before, fleet.capacity_revision("local") - gauges) == (0, 1)


@pytest.mark.req("P37", "PD12")
@pytest.mark.parametrize(
    ("before", "after", "wakes"),
    [
        (("cordoned",), (), True),
        (("cordoned", "dedicated=acme"), ("dedicated=acme",), True),
        (("dedicated=zen",), ("dedicated=acme",), True),
        (("cordoned", "dedicated=acme"), ("cordoned",), True),
        ((), ("cordoned",), False),
        ((), ("dedicated=acme",), False),
        (("cordoned", "unreachable"), ("cordoned",), False),
        (("cordoned",), ("cordoned", "unreachable"), False),
    ],
)
def test_a_node_that_opens_to_somebody_wakes_and_one_that_closes_wakes_nobody(
    store: Store, before, after, wakes
) -> None:
    store.write(lambda tx: resources.create(tx, Ref("node", "n"), {"pool": "local"}))
    for reason in before:
        store.write(lambda tx, reason=reason: ledger.block(tx, "n", reason))
    fleet = a_fleet(store)
    revision = fleet.capacity_revision("local")

    def change(tx) -> None:
        for reason in set(before) - set(after):
            ledger.unblock(tx, "n", reason)
        for reason in set(after) - set(before):
            ledger.block(tx, "n", reason)

    seen = fleet.view.node("n")
    assert seen is not None
    store.write(change)
    now = fleet.view.node("n")
    assert now is not None
    assert set(now.no_schedule) == set(after)
    assert (fleet.capacity_revision("local") > revision) is wakes


@pytest.mark.req("F30")
def test_a_node_that_names_no_tier_is_placed_on_as_part_of_the_fixed_one(store: Store) -> None:
    """Also where another tier comes first, and where the pool's tiers change later."""
    cloud = {"name": "cloud", "kind": "aws", "scaleOut": "elastic", "candidateInstanceTypes": [SHAPE]}
    racks = {"name": "racks", "kind": "local-servers", "scaleOut": "fixed"}
    fleet = a_fleet(store)
    store.write(lambda tx: resources.create(tx, Ref("node", "n"), {"pool": "local"}))
    shown = fleet.view.node("n")
    assert shown is not None
    assert (shown.tier, shown.cloud) == ("local", "local-servers")
    store.write(lambda tx: resources.replace(tx, resources.get(tx, POOL), document={"tiers": [cloud, racks]}))
    shown = fleet.view.node("n")
    assert shown is not None
    assert (shown.tier, shown.cloud) == ("racks", "local-servers")


def test_a_spare_is_one_until_it_has_taken_a_job(store: Store) -> None:
    fleet = a_fleet(store)
    spare = {"reservedFor": ["live"], "exclusive": True}
    store.write(lambda tx: resources.create(tx, Ref("node", "s"), {"pool": "local", "spare": spare}))
    shown = fleet.view.node("s")
    assert shown is not None
    assert (shown.spare, shown.unconsumed_spare) == (Spare(("live",), exclusive=True), True)
    taken = NodeStatus(spare=SpareStatus(consumed=True))
    store.write(lambda tx: resources.replace_status(tx, resources.get(tx, Ref("node", "s")), taken))
    shown = fleet.view.node("s")
    assert shown is not None
    assert not shown.unconsumed_spare


def test_a_claim_that_was_only_assumed_and_is_taken_back_is_a_gain(store: Store) -> None:
    """Who planned while the claim stood in the view may have gone to sleep over it."""
    fleet = a_fleet(store)
    store.write(lambda tx: resources.replace_status(tx, a_waiting_job(tx), JobStatus(phase="pending")))
    planned_on = fleet.capacity_revision("local")
    assumed = fleet.assume(Decision(claims=(Reserve(replace(HELD, id="b"), {}),)))

    fleet.withdraw(assumed)

    assert fleet.gained == {"local"}
    assert fleet.capacity_revision("local") != planned_on


def test_a_claim_that_a_later_pass_has_stored_is_not_taken_back(store: Store) -> None:
    fleet = a_fleet(store)
    fleet.gained.clear()

    fleet.withdraw((HELD,))

    assert fleet.view.claim("a") is not None
    assert not fleet.gained
