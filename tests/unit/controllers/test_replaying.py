"""Decisions made again: from devices, claims and revisions as the fleet view showed them, whatever came since."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.job import JobController
from controllers.jobs.view import JobView
from controllers.replaying import Replay, replay
from controllers.runtime.decision import Decision, Facts, Reserve
from controllers.runtime.fleet import Fleet
from controllers.scheduling import Scheduling
from placement.plugins import Plugin, Scorer
from resources.allocation import Allocation
from resources.devices import Booking, Device
from resources.event import Event
from resources.facts import Inventory, NodeFacts
from resources.job import Job, JobStatus
from resources.node import Amount, NodeStatus
from resources.pool import Pool
from resources.reference import Ref
from resources.reservation import Held, HeldDevice, ReservationStatus
from store import bookings, events, ledger, nodes, placement_log, resources
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked
from tests.controllers_stage import a_job_spec

JOB = Ref("job", "ch.primary.web", "default")
CARDS = tuple(Device(f"gpu-{at}", "gpu", links={"gpu-0": "NV"} if at else {}) for at in range(3))
DRIVER = {"rmctl/driver.process": "1"}
PAIR = {"devices": [{"class": "gpu", "count": 2}]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path, Clocked())
    opened.write(lambda tx: resources.create(tx, POOL, a_pool()))
    for name in ("a", "b"):
        opened.write(lambda tx, name=name: a_node(tx, name))
    yield opened
    opened.close()


def a_node(tx, name: str) -> None:
    made = resources.create(tx, Ref("node", name), {"pool": "local"}, labels=DRIVER)
    room = Amount(total=4, cap=4, reserved=0, free=4)
    capacity = {"vcpu": room, "cores": room, "memory": Amount(total=64, cap=64, reserved=0, free=64)}
    resources.replace_status(tx, made, NodeStatus(boot_id="boot", capacity=capacity))
    ledger.set_room(tx, name, "local", {"vcpu": (4000, 4000), "cores": (4, 4), "memory": (64, 64)})
    bookings.set_devices(tx, name, CARDS)
    nodes.put_facts(tx, NodeFacts(name, "boot", Inventory(4000, 4, 64), tx.now, 1, connected=True))


def decided(store: Store, fleet: Fleet, **requirements: object) -> int:
    """The job is planned, and what is told of it is stored; the event's id."""
    store.write(lambda tx: resources.create(tx, JOB, a_job_spec(requirements=requirements)))
    with store.read() as tx, fleet.planning():
        job, pool = resources.get(tx, JOB), resources.get(tx, POOL)
        assert isinstance(job, Job)
        assert isinstance(pool, Pool)
        view = JobView(pool=pool, fleet=fleet.view, scheduling=fleet.scheduling)
        made = JobController().decide(job, view, Facts(now=tx.now, seed=5, seen=fleet.seen()))
    (event,) = [one for one in made.events if one.type in ("PlacementDecision", "PlacementFailed")]
    number: int = store.write(lambda tx: stored(tx, made.status, event))
    return number


def stored(tx, status, event: Event) -> int:
    job = resources.get(tx, JOB)
    number = events.add(tx, JOB, job.uid, event)
    resources.replace_status(tx, job, status)
    return number


def again(store: Store, fleet: Fleet, number: int) -> Replay:
    with store.read() as tx:
        found = replay(tx, number, fleet)
    assert found is not None
    return found


@pytest.fixture
def fleet(store: Store) -> Fleet:
    made = Fleet(store)
    made.hydrate()
    return made


@pytest.mark.req("P10")
def test_devices_count_as_they_did_then(store: Store, fleet: Fleet) -> None:
    store.write(lambda tx: bookings.sicken(tx, "a", ["gpu-0", "gpu-1"]))
    number = decided(store, fleet, **PAIR)
    store.write(lambda tx: bookings.set_devices(tx, "a", CARDS))
    store.write(lambda tx: bookings.set_devices(tx, "b", ()))
    found = again(store, fleet, number)
    assert (found.decided["node"], found.equal) == ("b", True), found.replayed


def test_under_other_plugins_or_weights_a_decision_that_comes_out_otherwise_is_not_called_unequal(store: Store) -> None:
    racks = Plugin("racks", scorers=(Scorer("rack-a", lambda request, node: float(node.name == "b")),))
    settings = (Scheduling(), Scheduling((racks,)), Scheduling((racks,), {"rack-a": 2.0}))
    fleets = [Fleet(store, one) for one in settings]
    for one in fleets:
        one.hydrate()
    number = decided(store, fleets[1])
    told = [(found.equal, found.reason) for found in (again(store, one, number) for one in fleets)]
    assert told == [
        (None, "the server places by other settings now: plugin racks is gone"),
        (True, ""),
        (None, "the server places by other settings now: placement.weights are others"),
    ]
    assert again(store, fleets[1], number).decided["node"] == "b"


def test_what_came_after_the_view_and_before_the_commit_counts_not(store: Store, fleet: Fleet) -> None:
    before = fleet.seen()
    store.write(lambda tx: resources.create(tx, Ref("node", "0"), {"pool": "local"}, labels=DRIVER))
    assert fleet.seen()["revision"] > before["revision"]
    number = decided(store, fleet)
    with store.read() as tx:
        assert fleet.seen()["placements"] == placement_log.head(tx)
    store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, Ref("node", "0"))))
    assert again(store, fleet, number).equal is True


def test_a_claim_that_was_shown_before_it_was_stored_counts(store: Store, fleet: Fleet) -> None:
    other = Ref("job", "o.primary.web", "default")
    ahead = Allocation("x", "u-x", other, "x", "local", "a", 3500, devices=(Booking("gpu-0", 400),), ports=("80/tcp",))
    assert fleet.assume(Decision(JobStatus(), claims=(Reserve(ahead),))) == (ahead,)
    number = decided(store, fleet)
    fleet.withdraw([ahead])
    found = again(store, fleet, number)
    assert (found.decided["node"], found.equal) == ("b", True), found.replayed


def test_a_reservation_counts_in_its_window_and_for_its_holder(store: Store, fleet: Fleet) -> None:
    night = Ref("reservation", "night", "default")

    def book(tx) -> None:
        spec = {"pool": "local", "devices": [{"class": "gpu", "count": 2}], "holder": "ch"}
        made = resources.create(tx, night, spec)
        held = Held(node="b", devices=(HeldDevice(id="gpu-1"), HeldDevice(id="gpu-2")))
        status = ReservationStatus(phase="active", allocations=(held,), start=tx.now - 5, end=tx.now + 500)
        resources.replace_status(tx, made, status)
        atoms = (Booking("gpu-1"), Booking("gpu-2"))
        claim = Allocation(f"{made.uid}.1.0", made.uid, night, "0", "local", "b", 0, devices=atoms,
                           starts_at=tx.now - 5, ends_at=tx.now + 500, holder="default/ch")  # fmt: skip
        ledger.reserve(tx, claim)

    store.write(book)
    number = decided(store, fleet, **PAIR)
    with store.read() as tx:
        status = resources.get(tx, JOB).status
    assert isinstance(status, JobStatus)
    store.write(lambda tx: ledger.release(tx, ledger.list_allocations(tx)[0].id))
    found = again(store, fleet, number)
    assert status.reservation is not None
    assert (found.decided["node"], status.devices, found.equal) == ("b", ("gpu-1", "gpu-2"), True), found.replayed
