"""A reservation's preview: candidates, reasons, gangs, whole nodes, and whom it would displace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controllers.foresight import foresee
from controllers.runtime.fleet import Fleet
from resources.allocation import Allocation
from resources.devices import Booking, Device
from resources.instants import rfc3339
from resources.reference import Ref
from resources.reservation import Reservation
from store import bookings, ledger, resources
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

LABELS = {"rmctl/cap.devices.limits": "1"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path, Clocked())
    opened.write(lambda tx: resources.create(tx, POOL, a_pool(ranking="weighted")))
    yield opened
    opened.close()


def node(store: Store, name: str, count: int = 8, **labels: str) -> None:
    ids = [f"{name}-{at}" for at in range(count)]
    cards = tuple(Device(one, "gpu", links={other: "NV" for other in ids if other != one}) for one in ids)
    store.write(lambda tx: resources.create(tx, Ref("node", name), {"pool": "local"}, labels={**LABELS, **labels}))
    store.write(lambda tx: ledger.set_room(tx, name, "local", {"vcpu": (4000, 4000)}))
    store.write(lambda tx: bookings.set_devices(tx, name, cards))


def preview(store: Store, **spec: Any) -> dict[str, Any]:
    """Everything that it writes would be seen by the next one."""
    asked = {"pool": "local", "devices": [{"class": "gpu", "count": 8, "topology": "nvlink-all"}], **spec}
    fleet = Fleet(store)
    fleet.hydrate()
    ref = Ref("reservation", "asked", "default")

    def look(tx) -> dict[str, Any]:
        found = resources.find(tx, ref) or resources.create(tx, ref, asked)
        assert isinstance(found, Reservation)
        return foresee(tx, resources.replace(tx, found, document=asked), fleet, fleet.scratch())

    before = fleet.view.revision
    answer = store.write(look)
    assert fleet.view.revision == before
    return answer


@pytest.mark.req("P139")
def test_a_node_of_eight_linked_cards_scores_two_and_a_quarter(store: Store) -> None:
    node(store, "a")
    atoms = [f"a-{at}" for at in range(8)]
    assert preview(store) == {"fits": True, "candidates": [{"node": "a", "atoms": atoms, "score": 2.25}]}


@pytest.mark.req("P140")
def test_at_most_ten_candidates_the_best_first(store: Store) -> None:
    for number in range(12):
        node(store, f"n{number:02}", 12 - number)
    found = preview(store, devices=[{"class": "gpu", "count": 1}])["candidates"]
    assert [one["node"] for one in found] == [f"n{number:02}" for number in range(11, 1, -1)]


@pytest.mark.req("P141")
def test_a_gang_shows_the_members_of_the_best_one(store: Store) -> None:
    for name, domain in (("a", "x"), ("b", "y"), ("c", "y")):
        node(store, name, **{"fabric.domain": domain})
    found = preview(store, gang={"size": 2})["candidates"]
    assert [(one["node"], len(one["atoms"])) for one in found] == [("b", 8), ("c", 8)]
    reason = preview(store, gang={"size": 4})
    told = "3 of 4 members have a place; for the next: no node fits (3 nodes): 3 × fits: 0 of 8 gpu free"
    assert reason == {"fits": False, "candidates": [], "reason": told}


@pytest.mark.req("P142")
def test_a_node_binding_shows_the_nodes_that_it_could_take(store: Store) -> None:
    node(store, "a", 2)
    node(store, "b", 2)
    store.write(lambda tx: ledger.block(tx, "b", "cordoned"))
    found = preview(store, devices=[], binding="node")["candidates"]
    assert [(one["node"], one["atoms"]) for one in found] == [("a", ["a-0", "a-1"]), ("b", ["b-0", "b-1"])]


@pytest.mark.req("P143")
def test_whom_it_would_displace_is_told_for_a_regular_one_only(store: Store) -> None:
    node(store, "a")
    cheap = Ref("reservation", "cheap", "default")

    def book(tx) -> None:
        made = resources.create(
            tx, cheap, {"pool": "local", "devices": [{"class": "gpu", "count": 1}], "preemptible": True}
        )
        held = Allocation(
            f"{made.uid}.1.0", made.uid, cheap, "0", "local", "a", 0, devices=(Booking("a-3"),), starts_at=1.0
        )
        ledger.reserve(tx, held)

    store.write(book)
    told = preview(store, preempts=True)
    assert told["preemptible"] == {"reservations": ["cheap"], "startsAt": rfc3339(1000.0)}
    assert (told["fits"], told["candidates"]) == (False, [])
    assert "preemptible" not in preview(store, preemptible=True)
    assert "preemptible" not in preview(store, devices=[{"class": "gpu", "count": 9}])


@pytest.mark.parametrize("window", [{"end": 1.0}, {"start": 1.0, "durationSeconds": 5}])
def test_one_whose_time_is_over_fits_nowhere(store: Store, window: dict[str, Any]) -> None:
    node(store, "a")
    asked = {name: rfc3339(value) if name != "durationSeconds" else value for name, value in window.items()}
    assert preview(store, **asked)["reason"] == "its time was over before it had a place"


def test_one_that_is_booked_sees_its_own_place_first(store: Store) -> None:
    for name in ("a", "b"):
        node(store, name)
    own = Allocation(
        "r.1.0", "r", Ref("reservation", "asked", "default"), "0", "local", "b", 0,
        devices=tuple(Booking(f"b-{at}") for at in range(8)), starts_at=0.0,
    )  # fmt: skip
    fleet = Fleet(store)

    def look(tx) -> Any:
        spec = {"pool": "local", "devices": [{"class": "gpu", "count": 4}]}
        found = resources.create(tx, Ref("reservation", "asked", "default"), spec)
        ledger.reserve(tx, replace(own, id=f"{found.uid}.1.0", uid=found.uid))
        return found

    made = store.write(look)
    fleet.hydrate()
    with store.read() as tx:
        found = foresee(tx, made, fleet, fleet.scratch())["candidates"]
    assert [(one["node"], len(one["atoms"])) for one in found] == [("b", 4)]


def test_what_one_takes_is_gone_for_the_next(store: Store) -> None:
    node(store, "a", 4)
    fleet = Fleet(store)
    fleet.hydrate()
    spec = {"pool": "local", "devices": [{"class": "gpu", "count": 3}]}

    def look(tx) -> list[bool]:
        scratch = fleet.scratch()
        made = [resources.create(tx, Ref("reservation", name, "default"), spec) for name in ("one", "two")]
        return [foresee(tx, one, fleet, scratch)["fits"] for one in made]

    assert store.write(look) == [True, False]
