"""Jobs that take their room from a reservation: whose they are, when they may, and that they leave at its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.jobs.question import question
from controllers.placing import policy_of
from controllers.reserving import holder_of
from controllers.runtime.seen import seen
from placement import plan
from placement.explain import sentence, would_fit
from resources.allocation import Allocation
from resources.devices import Booking
from resources.instants import rfc3339
from resources.reference import Ref
from resources.reservation import ReservationSpec
from tests.controllers_stage import START, Stage, a_job, stage
from tests.placement_cards import cards

PAIR = [{"class": "gpu", "count": 2}]


def booked(node: str = "node-a", *, holder: str | None = "default/ch", name: str = "night", **fields) -> Allocation:
    window = {"starts_at": START - 10, "ends_at": START + 100, **fields}
    return Allocation(
        f"r-{name}.1.0", f"r-{name}", Ref("reservation", name, "default"), "0", "local", node, holder=holder,
        **{"capacity_milli": 0, **window},
    )  # fmt: skip


def with_cards(*reserved: Allocation, count: int = 4, **job) -> Stage:
    on = Stage(a_job(requirements={"devices": PAIR}, **job)).node("node-a", board=cards(count))
    for one in reserved:
        on.fleet.put_claim(seen(one))
    return on


def devices(*ids: str) -> tuple[Booking, ...]:
    return tuple(map(Booking, ids))


def claim_of(on: Stage) -> Allocation:
    (claim,) = on.allocations.values()
    return claim


LAST = booked(devices=devices("gpu-02", "gpu-03"))


def test_its_holders_job_gets_the_booked_devices_for_as_long_as_they_are_booked() -> None:
    on = with_cards(LAST)
    decision = on.run()
    claim = claim_of(on)
    assert [one.device for one in claim.devices] == ["gpu-02", "gpu-03"]
    assert (claim.inside, claim.starts_at, claim.ends_at) == ("r-night", START, START + 100)
    assert on.job.status.reservation is not None
    assert (on.job.status.reservation.name, on.job.status.reservation.until) == ("night", START + 100)
    assert decision.events[0].message == "node-a of 1 node, tier local, in its reservation night"
    told = f"node-a of 1 nodes, tier local, in its reservation night until {rfc3339(START + 100)}"
    assert decision.events[0].payload["sentence"] == told


@pytest.mark.parametrize("holder", ["default/o", "other/ch", None, "default/ch.primary.else"])
def test_others_never_do(holder: str | None) -> None:
    mine = booked(holder=holder, devices=devices("gpu-00", "gpu-01", "gpu-02"))
    on = with_cards(mine)
    on.run()
    assert on.said("Unschedulable") == ("True", "NoFit", "no node fits (1 nodes): 1 × fits: 1 of 2 gpu free")


def test_one_job_of_a_bundle_can_be_the_holder() -> None:
    on = with_cards(replace(LAST, holder="default/ch.primary.web"))
    on.run()
    assert claim_of(on).inside == "r-night"


def test_two_jobs_share_it_and_the_third_goes_where_there_is_room_for_all() -> None:
    half = booked(devices=devices("gpu-03"))
    asks = {"requiredGpuCapacity": 0.5}
    fleet = with_cards(half).fleet
    inside = []
    for name in ("a", "b", "c"):
        job = a_job(requirements=asks, name=f"ch.primary.{name}", uid=f"u-{name}", jobName=name)
        on = replace(Stage(job).node("node-a"), fleet=fleet)
        on.run()
        inside.append((claim_of(on).inside, claim_of(on).devices[0].device))
    assert inside == [("r-night", "gpu-03"), ("r-night", "gpu-03"), (None, "gpu-00")]


def test_amounts_are_taken_from_what_is_booked_and_the_rest_of_the_node_stays_free_for_others() -> None:
    on = stage()
    on.fleet.put_claim(seen(booked("node-a", capacity_milli=3000)))
    on.run()
    assert claim_of(on).inside == "r-night"
    node = on.fleet.node("node-a")
    assert node is not None
    assert node.free.capacity_milli == 1000


def test_a_whole_node_is_its_holders_alone() -> None:
    lease = booked("node-a", capacity_milli=4000, cores=4, memory_mib=4096, exclusive=True, lease=True)
    on, other = stage(), Stage(a_job(bundle="o", name="o.primary.web"))
    for one in (on, other):
        one.node("node-a")
        one.fleet.put_claim(seen(lease))
        one.run()
    assert claim_of(on).inside == "r-night"
    assert other.allocations == {}


def test_before_its_begin_it_waits_and_is_told_when_that_is() -> None:
    night = booked(devices=devices("gpu-00", "gpu-01", "gpu-02"), starts_at=START + 50)
    on = with_cards(night)
    on.run()
    begins = f"its reservation night begins at {rfc3339(START + 50)}"
    told = f"no node fits (1 nodes): 1 × fits: 1 of 2 gpu free; {begins}"
    assert on.said("Unschedulable") == ("True", "NoFit", told)
    asked = question(on.job, on.job.status, on.view(), on.fleet, now=START)
    assert on.pool is not None
    (first, *_) = would_fit(asked, on.fleet, policy_of(on.pool.spec))
    assert first.text == f"its reservation night had begun, at {rfc3339(START + 50)}: node-a"
    on.now = START + 50
    on.run()
    assert claim_of(on).inside == "r-night"


def test_room_of_a_reservation_to_come_is_not_free_for_a_job_that_has_no_end() -> None:
    on = Stage().node("node-a")
    on.fleet.put_claim(seen(booked("node-a", holder=None, capacity_milli=3500, starts_at=START + 50)))
    on.run()
    assert on.said("Unschedulable") == ("True", "NoFit", "no node fits (1 nodes): 1 × fits: 0.5 of 1 vcpu free")


def test_at_its_end_the_job_stops_and_looks_for_a_place_like_any_other() -> None:
    on = with_cards(LAST)
    on.up()
    assert on.run().requeue_after == pytest.approx(100, abs=0.01)
    on.now = START + 100
    on.fleet.drop_claim(LAST.id)
    decision = on.run()
    assert [event.message for event in decision.events] == ["the time of its reservation is over, it leaves node-a"]
    assert ("stop/1/1" in on.effects, on.job.status.phase) == (True, "stopping")
    assert on.run().events == ()
    node = on.fleet.node("node-a")
    assert node is not None
    asked = question(on.job, on.job.status, on.view(), on.fleet, now=on.now)
    assert node.over(asked).free_units == (1000, 1000, 0, 0)


def test_whoever_waited_for_its_room_looks_before_the_job_that_leaves() -> None:
    on = with_cards(LAST)
    on.up()
    on.now = START + 100
    on.fleet.drop_claim(LAST.id)
    on.run()
    on.told("exited", "u-1.1.1", code=0, ran_seconds=1.0).run()
    said = "has left its reservation, and looks for a place once those have looked who waited for one"
    assert (on.allocations, on.said()) == ({}, ("False", "Starting", said))
    on.now = START + 101
    on.run()
    assert [one.inside for one in on.allocations.values()] == [None]


def test_a_job_in_it_may_go_where_its_tenant_may() -> None:
    tenant = "acme"
    on = Stage().node("node-a", no_schedule=(f"dedicated={tenant}",))
    on.run()
    assert on.allocations == {}
    on.fleet.put_claim(seen(booked("node-a", capacity_milli=2000, tenant=tenant)))
    on.run()
    assert (claim_of(on).inside, claim_of(on).tenant) == ("r-night", tenant)


def test_a_backup_that_is_to_keep_away_goes_into_the_reservation_last() -> None:
    spec = {"role": "backup", "forbid": {"sameNode": "forbid"}, "requirements": {"devices": PAIR}}
    job = a_job(name="ch.backup.web", **spec)
    on = Stage(job).node("node-a", board=cards(4)).node("node-b", board=cards(4))
    on.fleet.put_claim(seen(LAST))
    on.sibling("ch.primary.web", on="node-a")
    on.run()
    assert (claim_of(on).node, claim_of(on).inside) == ("node-b", None)


def test_the_sentence_of_one_without_an_end_names_none() -> None:
    on = with_cards(replace(LAST, ends_at=None))
    asked = question(on.job, on.job.status, on.view(), on.fleet, now=START)
    assert on.pool is not None
    made = plan(asked, on.fleet, policy_of(on.pool.spec))
    assert sentence(made) == "node-a of 1 nodes, tier local, in its reservation night"


@pytest.mark.parametrize(
    ("told", "holder"),
    [
        ("ch", "p/ch"),
        ("bundle/ch", "p/ch"),
        ("ch/primary/web", "p/ch.primary.web"),
        ("job/ch/primary/web", "p/ch.primary.web"),
        ("the night shift of B/2", None),
        (None, None),
    ],
)
def test_the_holder_is_a_bundle_or_a_job_or_a_note(told: str | None, holder: str | None) -> None:
    spec = ReservationSpec.model_validate({"pool": "p", "amounts": {"cores": 1}, "holder": told})
    assert holder_of("p", spec) == holder


def test_one_that_does_not_fit_in_its_reservation_is_told_why() -> None:
    on = with_cards(booked(devices=devices("gpu-00", "gpu-01", "gpu-02")))
    for name in ("gpu-00", "gpu-01"):
        on.fleet.put_claim(seen(replace(booked(devices=devices(name), name="late", holder=None), id=name)))
    on.run()
    said = on.said("Unschedulable")
    assert said is not None
    assert said[2].endswith("; in its reservation night on node-a: fits: 1 of 2 gpu free")


def test_the_reservation_that_it_runs_in_is_named_with_its_end() -> None:
    on = with_cards(booked(devices=devices("gpu-00", "gpu-01"), ends_at=START + 100))
    on.up()
    assert on.said("Ready") == (
        "True",
        "Running",
        f"runs on node-a in its reservation night until {rfc3339(START + 100)}",
    )
