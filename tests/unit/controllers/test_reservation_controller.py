"""A reservation: booked, waiting, active, expired; gangs, whole nodes, and whom it would have to displace."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from controllers.reservation import ReservationController, ReservationView
from controllers.runtime.decision import Decision, Facts, Release, Reserve
from controllers.runtime.seen import seen
from placement import FleetView
from resources import conditions
from resources.allocation import Allocation
from resources.instants import rfc3339
from resources.pool import Pool, PoolSpec, PoolStatus
from resources.reference import Ref
from resources.reservation import Reservation, ReservationSpec, ReservationStatus
from tests.builders import a_pool
from tests.placement_cards import a_gpu_node
from tests.placement_worlds import a_claim

NOW = 1_000_000.0
GPUS = [{"class": "gpu", "count": 8, "topology": "nvlink-all"}]
LIMITS = {"rmctl/cap.devices.limits": "1"}


def a_reservation(**spec: Any) -> Reservation:
    document = {"pool": "local", **({} if spec.keys() & {"amounts", "wholeNode"} else {"devices": GPUS}), **spec}
    made = ReservationSpec.model_validate(document)
    return Reservation(Ref("reservation", "big", "default"), "r", 1, 1, made, ReservationStatus(), document)


def a_node(name: str, **fields: Any):
    labels = {**LIMITS, **fields.pop("labels", {})}
    return replace(a_gpu_node(name, labels=labels, **fields), pool="local")


@dataclass
class Stage:
    reservation: Reservation = field(default_factory=a_reservation)
    fleet: FleetView = field(default_factory=FleetView)
    allocations: dict[str, Allocation] = field(default_factory=dict)
    preemptible: dict[str, str] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    seekers: tuple[Ref, ...] = ()
    pool: bool = True
    archived: bool = False
    now: float = NOW

    def run(self) -> Decision:
        pool = Pool(Ref("pool", "local"), "p", 1, 1, PoolSpec.model_validate(a_pool()), PoolStatus())
        view = ReservationView(
            replace(pool, deletion_timestamp=NOW if self.archived else None) if self.pool else None,
            tuple(self.allocations[name] for name in sorted(self.allocations)),
            self.fleet,
            preemptible=self.preemptible,
            lost=self.lost,
            seekers=self.seekers,
        )
        decision = ReservationController().decide(self.reservation, view, Facts(now=self.now))
        assert ReservationController().decide(self.reservation, view, Facts(now=self.now)) == decision
        for change in decision.claims:
            match change:
                case Reserve(allocation=one):
                    self.allocations[one.id] = one
                    self.fleet.put_claim(seen(one))
                case Release(allocation_id=name):
                    self.allocations.pop(name, None)
                    self.fleet.drop_claim(name)
        status = decision.status
        assert isinstance(status, ReservationStatus)
        finalizers = self.reservation.finalizers if decision.finalizers is None else decision.finalizers
        self.reservation = replace(self.reservation, status=status, finalizers=finalizers)
        return decision

    def said(self, type_: str = "Ready") -> tuple[str, str, str] | None:
        found = conditions.find(self.reservation.status.conditions, type_)
        return None if found is None else (found.status, found.reason, found.message)

    @property
    def status(self) -> ReservationStatus:
        return self.reservation.status


def stage(*nodes, **spec: Any) -> Stage:
    on = Stage(a_reservation(**spec))
    for node in nodes or (a_node("a"),):
        on.fleet.put_node(node)
    return on


def test_it_books_the_cards_from_now_on_and_is_active() -> None:
    on = stage(durationSeconds=3600)
    decision = on.run()
    assert on.said() == ("True", "Active", f"is active on a until {rfc3339(NOW + 3600)}")
    assert on.said("Booked") == ("True", "Guaranteed", "a")
    (held,) = on.status.allocations
    assert (held.node, len(held.devices), on.status.phase) == ("a", 8, "active")
    assert (decision.requeue_after, on.reservation.finalizers) == (3600, ("rmctl/bookings",))
    assert on.run().claims == ()


def test_one_for_tomorrow_is_booked_today_and_becomes_active_then() -> None:
    on = stage(start=rfc3339(NOW + 100), durationSeconds=50)
    on.run()
    told = f"is booked on a from {rfc3339(NOW + 100)} until {rfc3339(NOW + 150)}"
    assert (on.status.phase, on.said()) == ("booked", ("False", "NotYet", told))
    on.now = NOW + 100
    on.run()
    assert (on.status.phase, on.status.start, on.status.end) == ("active", NOW + 100, NOW + 150)


def test_at_its_end_it_gives_everything_back() -> None:
    on = stage(durationSeconds=10)
    on.run()
    on.now = NOW + 10
    on.run()
    assert (on.allocations, on.status.phase, on.said()) == ({}, "expired", ("True", "Expired", "its time is over"))
    assert on.reservation.finalizers == ()
    assert on.run().claims == ()


@pytest.mark.req("P135", "P133")
def test_without_room_it_waits_and_says_the_sentence() -> None:
    on = stage(a_node("a", count=4))
    decision = on.run()
    sentence = "no node fits (1 nodes): 1 × fits: 4 of 8 gpu free"
    assert on.said("Unschedulable") == ("True", "NoFit", sentence)
    assert on.said() == ("False", "NoFit", f"waits for a place: {sentence}")
    assert decision.no_place_since == ("local", 0)
    assert [event.type for event in decision.events] == ["PlacementFailed"]
    assert on.run().events == ()


def test_one_that_never_had_a_place_expires_too() -> None:
    on = stage(a_node("a", count=4), end=rfc3339(NOW + 20))
    on.run()
    on.now = NOW + 20
    on.run()
    assert on.said() == ("False", "Expired", "its time was over before it had a place")


def test_once_its_pool_is_archived_it_waits_and_what_was_booked_stays() -> None:
    on = stage()
    on.archived = True
    on.run()
    assert on.said("Unschedulable") == ("True", "NoFit", "the pool is archived")
    booked = stage()
    booked.run()
    booked.archived = True
    booked.run()
    assert (booked.status.phase, len(booked.allocations)) == ("active", 1)


def test_without_its_pool_it_waits() -> None:
    on = stage()
    on.pool = False
    on.run()
    assert on.said("Unschedulable") == ("True", "NoPool", "no pool local")


@pytest.mark.req("P65")
def test_two_windows_that_only_touch_share_the_cards() -> None:
    on = stage(start=rfc3339(NOW + 100), durationSeconds=100)
    cards = tuple((f"gpu-{n:02}", 1000) for n in range(8))
    on.fleet.put_claim(a_claim("a", devices=cards, start=NOW, end=NOW + 100))
    on.run()
    assert on.status.phase == "booked"
    late = stage(start=rfc3339(NOW + 99), durationSeconds=100)
    late.fleet.put_claim(a_claim("a", devices=cards, start=NOW, end=NOW + 100))
    late.run()
    assert late.status.phase == "pending"


@pytest.mark.req("P58", "P62")
def test_devices_of_a_host_need_a_host_that_limits_devices() -> None:
    on = stage(a_gpu_node("a"))
    on.fleet.put_node(replace(a_gpu_node("a"), pool="local"))
    on.run()
    assert on.said("Unschedulable") == ("True", "NoFit", "no node fits (1 nodes): 1 × labels: rmctl/cap.devices.limits")


@pytest.mark.req("P59", "P61")
def test_a_kubernetes_binding_needs_a_host_that_serves_it() -> None:
    on = stage(binding="kubernetes")
    on.run()
    assert "labels: rmctl/cap.binding.kubernetes" in str(on.said("Unschedulable"))
    able = stage(a_node("a", labels={"rmctl/cap.binding.kubernetes": "1"}), binding="kubernetes")
    able.run()
    assert able.status.phase == "active"


@pytest.mark.req("P60", "P31", "P32", "P33")
def test_a_node_binding_takes_the_whole_node_whatever_closes_it() -> None:
    closed = replace(a_gpu_node("a", no_schedule=("cordoned",)), pool="local")
    on = stage(closed, binding="node", devices=[])
    decision = on.run()
    (claim,) = (change.allocation for change in decision.claims if isinstance(change, Reserve))
    assert (claim.lease, claim.exclusive, claim.capacity_milli, len(claim.devices)) == (True, True, 64_000, 8)


@pytest.mark.req("P31")
def test_a_lease_honours_a_foreign_dedication() -> None:
    node = replace(a_gpu_node("a", no_schedule=("cordoned", "dedicated=acme")), pool="local")
    on = stage(node, wholeNode=True, tenant="zen")
    on.run()
    assert "1 × dedicated=acme" in str(on.said("Unschedulable"))
    mine = stage(node, wholeNode=True, tenant="acme")
    mine.run()
    assert mine.status.phase == "active"


def test_a_lease_needs_an_empty_node() -> None:
    on = stage(wholeNode=True)
    on.fleet.put_claim(a_claim("a"))
    on.run()
    assert "exclusive: other jobs are here" in str(on.said("Unschedulable"))


def test_a_gang_is_booked_whole_or_not_at_all() -> None:
    on = stage(a_node("a"), a_node("b"), gang={"size": 3})
    on.run()
    assert (on.allocations, on.status.phase) == ({}, "pending")
    on.fleet.put_node(a_node("c"))
    on.run()
    assert sorted(held.node for held in on.status.allocations) == ["a", "b", "c"]


def test_a_changed_spec_keeps_what_it_had_until_it_has_its_new_place() -> None:
    on = stage(a_node("a"), a_node("b", count=4))
    on.run()
    more = a_reservation(devices=[{"class": "gpu", "count": 9}])
    on.reservation = replace(on.reservation, spec=more.spec, generation=2)
    on.run()
    assert (on.said("Booked"), len(on.allocations)) == (
        ("True", "Guaranteed", "a"),
        1,
    )
    less = a_reservation(devices=[{"class": "gpu", "count": 2}])
    on.reservation = replace(on.reservation, spec=less.spec, generation=3)
    on.run()
    assert list(on.allocations) == ["r.3.0"]
    assert len(on.status.allocations[0].devices) == 2


def test_deleting_gives_everything_back() -> None:
    on = stage()
    on.run()
    on.reservation = replace(on.reservation, deletion_timestamp=NOW)
    assert on.run().finalizers == ()
    assert on.allocations == {}


@pytest.mark.req("P143")
def test_whom_it_would_displace_is_named_and_nobody_is() -> None:
    on = stage(a_node("a"), a_node("b"), preempts=True)
    for node, atoms in (("a", (0,)), ("b", (0, 1))):
        on.fleet.put_claim(a_claim(node, allocation=f"spot-{node}", devices=tuple((f"gpu-0{n}", 1000) for n in atoms)))
        on.preemptible[f"spot-{node}"] = f"cheap-{node}"
    on.run()
    assert (on.status.victims, on.status.starts_at) == (("cheap-b",), NOW)
    assert set(on.allocations) == set()
    assert on.fleet.claim("spot-b") is not None


WEB = Ref("job", "ch.primary.web", "default")


def test_its_holders_jobs_hear_when_it_begins_and_when_it_is_booked_anew() -> None:
    on = stage(start=rfc3339(NOW + 100), durationSeconds=50, holder="ch")
    on.seekers = (WEB,)
    assert on.run().wake == ()
    on.now = NOW + 100
    assert [on.run().wake, on.run().wake] == [(WEB,), ()]
    on.reservation = changed_to(on.reservation, durationSeconds=80)
    assert on.run().wake == (WEB,)
    assert [one.holder for one in on.allocations.values()] == ["default/ch"]


def changed_to(reservation: Reservation, **spec: Any) -> Reservation:
    document = {**reservation.document, **spec}
    return replace(reservation, generation=2, spec=ReservationSpec.model_validate(document), document=document)


def test_one_that_jobs_are_in_can_be_made_longer() -> None:
    on = stage(durationSeconds=50, holder="ch")
    on.run()
    (own,) = on.allocations.values()
    user = replace(own, id="u-1.1.1", uid="u-1", owner=WEB, inside="r", holder=None)
    on.fleet.put_claim(seen(user))
    on.reservation = changed_to(on.reservation, durationSeconds=500)
    on.run()
    assert (on.status.phase, on.status.end, on.said("Booked")) == ("active", NOW + 500, ("True", "Guaranteed", "a"))


@pytest.mark.req("P34", "P18")
def test_a_leased_node_that_goes_is_replaced_whatever_closes_the_next_to_others_but_a_foreign_dedication() -> None:
    on = stage(a_node("a"), wholeNode=True)
    on.run()
    on.fleet.remove_node("a")
    on.fleet.put_node(a_node("b", no_schedule=("dedicated=zen",)))
    on.run()
    assert on.said("Booked") == ("False", "NoFit", "no node fits (1 nodes): 1 × dedicated=zen")
    assert (on.status.phase, [one.node for one in on.status.allocations]) == ("active", ["a"])
    on.fleet.put_node(a_node("c", no_schedule=("unreachable", "cordoned")))
    on.run()
    assert on.said("Booked") == ("True", "Guaranteed", "c")
    assert [one.node for one in on.allocations.values()] == ["c"]


def test_one_of_a_device_that_turned_sick_is_booked_on_others_once_there_are_some() -> None:
    on = stage(devices=[{"class": "gpu", "count": 4}])
    on.run()
    on.fleet.put_node(a_node("a", count=3))
    assert on.run().claims == ()
    assert (on.status.phase, on.said("Booked")) == (
        "active", ("False", "NoFit", "no node fits (1 nodes): 1 × fits: 3 of 4 gpu free"),
    )  # fmt: skip
    on.fleet.put_node(a_node("b", count=4))
    on.run()
    assert (on.said("Booked"), on.status.allocations[0].node) == (("True", "Guaranteed", "b"), "b")


def test_one_that_has_begun_keeps_its_begin_wherever_it_is_booked_anew() -> None:
    on = stage(durationSeconds=100, devices=[{"class": "gpu", "count": 4}])
    on.run()
    on.now = NOW + 40
    on.reservation = changed_to(on.reservation, holder="ch")
    on.run()
    assert (on.status.start, on.status.end) == (NOW, NOW + 100)
    on.fleet.put_node(a_node("a", count=3))
    on.now = NOW + 50
    on.run()
    assert on.said("Booked") == ("False", "NoFit", "no node fits (1 nodes): 1 × fits: 3 of 4 gpu free")
    on.fleet.put_node(a_node("b"))
    on.now = NOW + 60
    on.run()
    assert (on.said("Booked"), on.status.start, on.status.end) == (("True", "Guaranteed", "b"), NOW, NOW + 100)
    on.reservation = replace(changed_to(on.reservation, durationSeconds=30), generation=3)
    on.run()
    assert on.said() == ("True", "Expired", "its time is over")


def test_a_changed_one_stays_where_it_is_as_long_as_it_fits_there() -> None:
    on = stage(a_node("b"), devices=[{"class": "gpu", "count": 4}])
    on.run()
    on.fleet.put_node(a_node("a"))
    on.fleet.put_claim(a_claim("else", "a", devices=(("gpu-00", 1000), ("gpu-01", 1000))))
    on.reservation = changed_to(on.reservation, durationSeconds=500)
    on.run()
    assert [one.node for one in on.status.allocations] == ["b"]
    on.reservation = replace(changed_to(on.reservation, devices=[{"class": "gpu", "count": 5}]), generation=3)
    on.run()
    assert [(one.node, len(one.devices)) for one in on.status.allocations] == [("b", 5)]


@pytest.mark.parametrize(
    ("count", "kept"), [(1, ["gpu-02"]), (2, ["gpu-02", "gpu-03"]), (3, ["gpu-00", "gpu-02", "gpu-03"])]
)
def test_a_smaller_one_keeps_the_cards_that_its_jobs_use(count: int, kept: list[str]) -> None:
    on = stage(devices=[{"class": "gpu", "count": 4}], holder="ch")
    on.run()
    (own,) = on.allocations.values()
    user = replace(own, id="u-1.1.1", uid="u-1", owner=WEB, inside="r", holder=None, devices=own.devices[2:])
    on.fleet.put_claim(seen(user))
    on.reservation = changed_to(on.reservation, devices=[{"class": "gpu", "count": count}])
    on.run()
    assert [one.id for one in on.status.allocations[0].devices] == kept


def test_a_smaller_gang_keeps_the_members_whose_jobs_run() -> None:
    on = stage(a_node("a"), a_node("b"), gang={"size": 2}, holder="ch")
    on.run()
    busy = next(one for one in on.allocations.values() if one.node == "b")
    on.fleet.put_claim(seen(replace(busy, id="u-1.1.1", uid="u-1", owner=WEB, inside="r", holder=None)))
    document = {name: value for name, value in on.reservation.document.items() if name != "gang"}
    on.reservation = replace(
        on.reservation, generation=2, spec=ReservationSpec.model_validate(document), document=document
    )
    on.run()
    assert [one.node for one in on.status.allocations] == ["b"]


def test_a_waiting_gang_is_told_how_many_members_have_a_place() -> None:
    on = stage(a_node("a"), gang={"size": 3}, devices=[{"class": "gpu", "count": 4}])
    on.run()
    told = "2 of 3 members have a place; for the next: no node fits (1 nodes): 1 × fits: 0 of 4 gpu free"
    assert on.said("Booked") == ("False", "NoFit", told)


def test_a_change_that_waits_goes_on_waiting_when_what_it_had_is_over() -> None:
    on = stage(end=rfc3339(NOW + 30))
    on.run()
    cards = tuple((f"gpu-0{at}", 1000) for at in range(8))
    window = {"start": NOW + 30, "end": NOW + 600, "reservation": "r2"}
    on.fleet.put_claim(a_claim("a", "next", ask=0, allocation="x2", devices=cards, **window))
    on.reservation = changed_to(on.reservation, end=rfc3339(NOW + 600))
    on.now = NOW + 10
    decision = on.run()
    said = "no node fits (1 nodes): 1 × fits: 0 of 8 gpu free"
    kept = f"keeps what it has on a until {rfc3339(NOW + 30)}"
    assert on.said() == ("False", "NoFit", f"waits for a place: {said}; {kept}")
    assert (on.said("Booked"), decision.requeue_after) == (("True", "Guaranteed", "a"), 20)
    on.now = NOW + 30
    on.run()
    assert (on.allocations, on.status.phase, on.said()) == (
        {},
        "pending",
        ("False", "NoFit", f"waits for a place: {said}"),
    )
    on.fleet.drop_claim("x2")
    on.now = NOW + 100
    on.run()
    assert (on.status.phase, on.status.start, on.status.end) == ("active", NOW, NOW + 600)


@pytest.mark.parametrize("spec", [{}, {"wholeNode": True}])
def test_one_on_a_lost_node_is_booked_on_another_that_has_room(spec: dict[str, Any]) -> None:
    on = stage(a_node("a"), **spec)
    on.run()
    on.fleet.put_node(a_node("a", no_schedule=("unreachable",)))
    assert on.run().claims == (), "a silent one may come back at any moment"
    on.lost = ("a",)
    on.run()
    assert (on.said("Booked") or ("",))[0] == "False"
    on.fleet.put_node(a_node("b"))
    on.run()
    assert (on.said("Booked"), next(iter(on.allocations.values())).node) == (("True", "Guaranteed", "b"), "b")
