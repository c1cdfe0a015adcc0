"""The ledger: guards that answer short, and sums that hold."""

from __future__ import annotations

import pytest

from resources.allocation import Allocation
from resources.reference import Ref
from store import ledger
from store.errors import Short
from store.store import Store


def an_allocation(id_: str = "a", node: str = "n", **more) -> Allocation:
    values = {"capacity_milli": 1000, **more}
    return Allocation(id_, f"uid-{id_}", Ref("job", f"b.primary.{id_}", "default"), id_, "p", node, **values)


@pytest.fixture(autouse=True)
def room(store: Store) -> None:
    store.write(lambda tx: ledger.set_room(tx, "n", "p", {"vcpu": (4000, 2900), "cores": (4, 4), "memory": (100, 100)}))


def reserve(store: Store, allocation: Allocation) -> None:
    store.write(lambda tx: ledger.reserve(tx, allocation))


def state(store: Store):
    with store.read() as tx:
        return ledger.room(tx, "n"), ledger.list_allocations(tx), ledger.rollup(tx, "p")


@pytest.mark.req("P42", "P118", "P123")
def test_the_last_unit_is_claimed_and_the_next_is_refused(store: Store) -> None:
    for number in range(29):
        reserve(store, an_allocation(str(number), capacity_milli=100))
    before = state(store)
    with pytest.raises(Short, match="vcpu on n ran out"):
        reserve(store, an_allocation("30", capacity_milli=100))
    assert state(store) == before


@pytest.mark.req("P115", "P120")
def test_a_closed_node_takes_nothing(store: Store) -> None:
    store.write(lambda tx: ledger.block(tx, "n", "cordoned", "spec"))
    with pytest.raises(Short, match="n is no longer schedulable"):
        reserve(store, an_allocation())


@pytest.mark.req("F211", "P119")
def test_a_port_is_held_once_and_nothing_of_the_failed_claim_remains(store: Store) -> None:
    reserve(store, an_allocation("a", ports=("80/tcp",)))
    before = state(store)
    with pytest.raises(Short, match="80/tcp on n was taken"):
        reserve(store, an_allocation("b", ports=("80/tcp",)))
    assert state(store) == before
    reserve(store, an_allocation("c", ports=("80/udp",)))


def test_claiming_twice_and_releasing_twice_change_nothing(store: Store) -> None:
    reserve(store, an_allocation(ports=("80/tcp",)))
    once = state(store)
    reserve(store, an_allocation(ports=("80/tcp",)))
    assert state(store) == once
    assert store.write(lambda tx: ledger.release(tx, "a")) is not None
    empty = state(store)
    assert store.write(lambda tx: ledger.release(tx, "a")) is None
    assert state(store) == empty
    reserve(store, an_allocation("b", ports=("80/tcp",)))


@pytest.mark.req("P130")
def test_the_rollup_is_the_sum_of_live_claims(store: Store) -> None:
    reserve(store, an_allocation("a", capacity_milli=700, cores=2))
    reserve(store, an_allocation("b", capacity_milli=300, memory_mib=10))
    store.write(lambda tx: ledger.release(tx, "a"))
    store.write(lambda tx: ledger.set_room(tx, "n", "p", {"vcpu": (4000, 4000), "cores": (4, 4), "memory": (100, 100)}))
    with store.read() as tx:
        claimed = {resource: amount for resource, (_, amount) in ledger.rollup(tx, "p").items()}
        assert claimed == ledger.summed(tx, "p") == {"vcpu": 300, "cores": 0, "memory": 10}
        assert ledger.rollup(tx, "p")["vcpu"][0] == 4000
