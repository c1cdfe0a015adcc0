"""The ledger's guards and the placer's rules say the same of every node, tenant and label."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import pytest

from controllers.runtime.fleet import Fleet
from placement import Amounts, Request
from placement.filters import open_to_somebody, schedulable
from placement.scene import scene_of
from placement.survey import STRAY
from placement.within import parts
from resources.allocation import Allocation
from resources.devices import Booking, Device
from resources.quantities import scaled_down
from resources.reference import Ref
from store import bookings, ledger, resources
from store.errors import Short
from store.store import Store
from store.tables import TIMED
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

REASONS = ("cordoned", "unreachable", "dedicated=acme", "dedicated=zen", "not ready")
TENANTS = (None, "acme", "zen", "other")


@pytest.fixture(autouse=True)
def node(store: Store) -> None:
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    store.write(
        lambda tx: resources.create(tx, Ref("node", "n"), {"pool": "local"}, labels={"rmctl/cap.x": "1", "d": "ssd"})
    )
    store.write(lambda tx: ledger.set_room(tx, "n", "local", {"vcpu": (10_000, 10_000)}))


def an_allocation(tenant: str | None = None, *, lease: bool = False, milli: int = 1) -> Allocation:
    owner = Ref("job", "b.primary.w", "default")
    return Allocation("a", "u", owner, "i", "local", "n", milli, tenant=tenant, lease=lease)


def taken(store: Store, allocation: Allocation, labels: dict[str, str] | None = None) -> str | None:
    """None when the guards let it through, which is undone; else what they say."""
    try:
        store.write(lambda tx: ledger.reserve(tx, allocation, labels))
    except Short as short:
        return short.reason
    store.write(lambda tx: ledger.release(tx, "a"))
    return None


@pytest.mark.req("P35", "PA30", "P33", "P28", "P30")
def test_the_rule_in_memory_and_the_guard_agree_on_who_may_go_there(store: Store) -> None:
    draw = Random(3)
    fleet = Fleet(store)
    fleet.hydrate()
    for _ in range(12):
        wanted = draw.sample(REASONS, draw.choice((0, 1, 1, 2, 3)))
        for reason in REASONS:
            store.write(lambda tx, reason=reason: ledger.unblock(tx, "n", reason))
        for reason in wanted:
            store.write(lambda tx, reason=reason: ledger.block(tx, "n", reason))
        view = fleet.view.node("n")
        assert view is not None
        for tenant, lease in product(TENANTS, (False, True)):
            request = Request(
                owner="default/b.primary.w", pool="local", bundle="b", role="primary", job="w",
                amounts=Amounts(1), tenant=tenant, lease=lease,
            )  # fmt: skip
            kept = schedulable(request, view, scene_of(request, fleet.view, STRAY)) is None
            assert (taken(store, an_allocation(tenant, lease=lease)) is None) is kept, (wanted, tenant, lease)


@pytest.mark.parametrize(("tenant", "lease"), list(product(TENANTS, (False, True))))
def test_both_agree_on_which_closed_nodes_jobs_of_a_reservation_may_use(store: Store, tenant, lease: bool) -> None:
    night = Allocation(
        "r.1.0", "r", Ref("reservation", "night", "default"), "0", "local", "n", 10,
        tenant=tenant, lease=lease, exclusive=lease, starts_at=0.0, holder="default/b",
    )  # fmt: skip
    store.write(lambda tx: ledger.reserve(tx, night))
    fleet = Fleet(store)
    fleet.hydrate()
    request = Request(
        owner="default/b.primary.w", pool="local", bundle="b", role="primary", job="w",
        amounts=Amounts(1), holders=frozenset({"default/b"}), start=1.0,
    )  # fmt: skip
    for wanted in ((), *((one,) for one in REASONS), ("cordoned", "dedicated=acme"), ("cordoned", "not ready")):
        for reason in wanted:
            store.write(lambda tx, reason=reason: ledger.block(tx, "n", reason))
        (part,) = parts(request, fleet.view)
        kept = schedulable(request, part.node, scene_of(request, fleet.view, STRAY)) is None
        inside = replace(an_allocation(part.inside.tenant), inside="r", starts_at=1.0)
        assert (taken(store, inside) is None) is kept, wanted
        assert kept is all(one == f"dedicated={tenant}" or (lease and one == "cordoned") for one in wanted)
        for reason in wanted:
            store.write(lambda tx, reason=reason: ledger.unblock(tx, "n", reason))


@pytest.mark.req("P36")
@pytest.mark.parametrize(
    ("reasons", "somebody"),
    [((), True), (("dedicated=acme",), True), (("cordoned",), False), (("cordoned", "dedicated=a"), False),
     (("dedicated=a", "dedicated=b"), False)],
)  # fmt: skip
def test_a_node_is_open_to_somebody_without_a_reason_or_with_one_dedication(reasons, somebody) -> None:
    assert open_to_somebody(reasons) is somebody


@pytest.mark.req("P53", "P54", "PA24")
def test_labels_are_read_again_at_the_commit(store: Store) -> None:
    assert taken(store, an_allocation(), {"rmctl/cap.x": "*", "d": "ssd"}) is None
    assert taken(store, an_allocation(), {"rmctl/cap.x": "*", "d": "hdd"}) == "n no longer has label d=hdd"
    store.write(lambda tx: resources.replace(tx, resources.get(tx, Ref("node", "n")), labels={"d": "ssd"}))
    assert taken(store, an_allocation(), {"rmctl/cap.x": "*"}) == "n no longer has label rmctl/cap.x"


def statements(store: Store, what) -> list[str]:
    """The statements that a write runs."""
    seen: list[str] = []

    def traced(tx) -> None:
        tx._driver.set_trace_callback(seen.append)
        try:
            what(tx)
        finally:
            tx._driver.set_trace_callback(None)

    with contextlib.suppress(Short):
        store.write(traced)
    return seen


TABLES = (
    "node_blocks",
    "labels",
    "devices",
    "device_bookings",
    "node_scalars",
    "port_claims",
    "allocations",
    "pool_rollup",
)


def tables(lines: list[str]) -> list[str]:
    """Tables in the order in which they are first touched.

    The looks whether the claim is there already, and at what is held for a time, are left out.
    """
    touching = [line for line in lines[1:] if TIMED not in line]
    words = [re.findall(r"(?:FROM|INTO|UPDATE) (\w+)", line)[0] for line in touching]
    return [word for word in dict.fromkeys(words) if word in TABLES]


@pytest.mark.req("P47")
def test_without_labels_the_label_table_is_not_read(store: Store) -> None:
    assert "labels" not in tables(statements(store, lambda tx: ledger.reserve(tx, an_allocation())))


@pytest.mark.req("P114", "P127", "P129")
def test_tables_are_touched_in_one_order(store: Store) -> None:
    """Node, labels, devices, bookings, amounts, ports, the allocation, the rollup; a release keeps to it."""
    store.write(lambda tx: bookings.set_devices(tx, "n", (Device("gpu-0", "gpu"),)))
    whole = replace(an_allocation(), devices=(Booking("gpu-0"),), ports=("80/tcp",), starts_at=1.0)
    took = tables(statements(store, lambda tx: ledger.reserve(tx, whole, {"d": "ssd"})))
    assert took == list(TABLES)
    gave = tables(statements(store, lambda tx: ledger.release(tx, "a")))
    assert gave == [name for name in TABLES if name in gave]
    assert {"device_bookings", "node_scalars", "allocations", "pool_rollup"} <= set(gave)


@pytest.mark.req("P113", "P115")
def test_a_guard_that_is_short_runs_nothing_after_it(store: Store) -> None:
    store.write(lambda tx: ledger.block(tx, "n", "cordoned"))
    lines = statements(store, lambda tx: ledger.reserve(tx, an_allocation()))
    assert tables(lines) == ["node_blocks"]


@pytest.mark.req("P38", "P39", "P40", "P41", "P42", "PD1", "PA27")
def test_room_is_one_figure_from_the_planner_to_the_rollup(store: Store) -> None:
    """100 × 0.29 is 29 everywhere: the 29th places and the 30th is refused."""
    room = scaled_down(100, 0.29)
    store.write(lambda tx: ledger.set_room(tx, "n", "local", {"vcpu": (100, room)}))
    fleet = Fleet(store)
    fleet.hydrate()
    node = fleet.view.node("n")
    assert node is not None
    with store.read() as tx:
        assert (
            room,
            node.capacity.capacity_milli,
            ledger.room(tx, "n")["vcpu"][1],
            ledger.rollup(tx, "local")["vcpu"][0],
        ) == (29, 29, 29, 29)
    assert taken(store, an_allocation(milli=29)) is None
    assert taken(store, an_allocation(milli=30)) == "vcpu on n ran out"


@pytest.mark.req("P39", "PA27", "PD1")
def test_the_floor_is_exact_for_every_pair() -> None:
    for total in range(1, 201):
        for percent in range(1, 101):
            ratio = percent / 100
            assert scaled_down(total, ratio) == total * Fraction(percent, 100) // 1
    assert scaled_down(1, 0.9999999999) == 0


@pytest.mark.req("P43")
def test_the_guard_decides_where_the_planners_room_is_stale(store: Store) -> None:
    store.write(lambda tx: ledger.set_room(tx, "n", "local", {"vcpu": (10_000, 500)}))
    assert taken(store, an_allocation(milli=501)) == "vcpu on n ran out"


@pytest.mark.req("P25")
def test_a_reason_stands_from_the_very_write_that_says_its_cause(store: Store) -> None:
    def cordoned(tx, on: bool) -> None:
        node = resources.get(tx, Ref("node", "n"))
        resources.replace(tx, node, document={**node.document, "cordoned": on})

    def dies(tx) -> None:
        cordoned(tx, True)
        assert ledger.blocks(tx, "n") == ("cordoned",)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(dies)
    for on in (False, True, False):
        store.write(lambda tx, on=on: cordoned(tx, on))
        with store.read() as tx:
            node = resources.get(tx, Ref("node", "n"))
            assert (node.spec.cordoned, ledger.blocks(tx, "n")) == (on, ("cordoned",) * on)


DIES = """
import os, sys
from pathlib import Path
from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import ledger, resources
from store.store import Store
from tests.builders import POOL, a_pool

store = Store.open(Path(sys.argv[1]), Threads())
store.write(lambda tx: resources.create(tx, POOL, a_pool()))
store.write(lambda tx: resources.create(tx, Ref("node", "n"), {"pool": POOL.name}))


def dies(tx):
    node = resources.get(tx, Ref("node", "n"))
    taints = [{"key": "dedicated", "value": "acme"}]
    resources.replace(tx, node, document={**node.document, "cordoned": True, "taints": taints})
    assert ledger.blocks(tx, "n") == ("cordoned", "dedicated=acme")
    os.kill(os.getpid(), 9)


store.write(dies)
"""


@pytest.mark.req("P25")
def test_one_that_dies_in_between_leaves_neither_the_cause_nor_the_reason(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], cwd=root, check=False, capture_output=True)
    assert died.returncode == -9, died.stderr
    with contextlib.closing(Store.open(tmp_path, Clocked())) as again, again.read() as tx:
        node = resources.get(tx, Ref("node", "n"))
        assert (node.spec.cordoned, node.spec.taints, ledger.blocks(tx, "n")) == (False, (), ())
