"""Devices of nodes and what is booked of them, guarded by the statements that write it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Integer, bindparam, delete, insert, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from resources.allocation import Allocation
from resources.devices import WHOLE, Device
from store import placement_log, timed
from store.device_rows import read, written
from store.errors import Short
from store.notes import DevicesSet
from store.statements import prepared
from store.tables import device_bookings, devices
from store.tx import Tx

_usable = prepared(
    select(devices.c.id).where(
        devices.c.node == bindparam("n"),
        devices.c.id == bindparam("d"),
        devices.c.healthy == 1,
        devices.c.bookable == 1,
    )
)
_named = ("node", "device", "allocation", "units", "starts_at", "ends_at")
_book = prepared(
    insert(device_bookings).from_select(
        list(_named),
        select(*(bindparam(name) for name in _named)).where(bindparam("most", type_=Integer) <= WHOLE),
    )
)
_free = prepared(delete(device_bookings).where(device_bookings.c.allocation == bindparam("a")))
_list = select(devices).order_by(devices.c.node, devices.c.position, devices.c.id)
_listed_on = prepared(_list.where(devices.c.node == bindparam("n")))
_put = upsert(devices)
_set = prepared(
    _put.on_conflict_do_update(
        index_elements=["node", "id"],
        set_={column.name: _put.excluded[column.name] for column in devices.c if column.name not in ("node", "id")},
    )
)
_drop = prepared(delete(devices).where(devices.c.node == bindparam("n"), devices.c.id == bindparam("d")))
_sicken = prepared(
    update(devices)
    .where(devices.c.node == bindparam("n"), devices.c.id == bindparam("d"), devices.c.healthy == 1)
    .values(healthy=literal_column("0"))
)
_booked = select(device_bookings).order_by(
    device_bookings.c.node, device_bookings.c.device, device_bookings.c.allocation
)


def book(tx: Tx, allocation: Allocation) -> None:
    """Raises Short for a device that is not well or not free for the whole window."""
    node = allocation.node
    for device, _ in allocation.devices:
        if tx.execute(_usable, {"n": node, "d": device}).first() is None:
            raise Short(node, f"an atom on {node} turned unhealthy or unbookable")
    start = tx.now if allocation.starts_at is None else allocation.starts_at
    most = timed.units(tx, allocation) if allocation.devices else {}
    for device, units in allocation.devices:
        values = {"node": node, "device": device, "allocation": allocation.id, "units": units, "starts_at": start}
        values |= {"ends_at": allocation.ends_at, "most": most[device]}
        if tx.write(_book, values).rowcount == 0:
            raise Short(node, f"an atom on {node} was booked concurrently")


def rebook(tx: Tx, allocations: Iterable[Allocation]) -> None:
    """Write every booking anew as the allocations say, whatever they add up to."""
    tx.write(delete(device_bookings))
    for one in allocations:
        for device, units in one.devices:
            values = {"node": one.node, "device": device, "allocation": one.id, "units": units}
            start = tx.now if one.starts_at is None else one.starts_at
            tx.write(insert(device_bookings).values(**values, starts_at=start, ends_at=one.ends_at))


def free(tx: Tx, allocation: Allocation) -> None:
    if allocation.devices:
        tx.write(_free, {"a": allocation.id})


def set_devices(tx: Tx, node: str, found: Iterable[Device]) -> None:
    """What a node has, in the order in which it lists them. Bookings stay as they are."""
    wanted = tuple(found)
    before = devices_of(tx, node)
    if before == wanted:
        return
    for gone in {device.id for device in before} - {device.id for device in wanted}:
        tx.write(_drop, {"n": node, "d": gone})
    for position, device in enumerate(wanted):
        tx.write(_set, written(node, position, device))
    tx.note(DevicesSet(node, wanted, placement_log.devices_set(tx, node, wanted)))


def sicken(tx: Tx, node: str, ids: Iterable[str]) -> None:
    """What a node says is sick takes nothing more from now on; when it counts as well again is for others to say."""
    if sum(tx.write(_sicken, {"n": node, "d": device}).rowcount for device in ids):
        found = devices_of(tx, node)
        tx.note(DevicesSet(node, found, placement_log.devices_set(tx, node, found)))


def devices_of(tx: Tx, node: str) -> tuple[Device, ...]:
    return tuple(read(row._mapping) for row in tx.execute(_listed_on, {"n": node}))


def all_devices(tx: Tx) -> dict[str, tuple[Device, ...]]:
    """By node, for nodes that have any."""
    found: dict[str, list[Device]] = {}
    for row in tx.execute(_list):
        found.setdefault(row.node, []).append(read(row._mapping))
    return {node: tuple(listed) for node, listed in found.items()}


def all_bookings(tx: Tx) -> tuple[tuple[str, str, str, int], ...]:
    """Node, device, allocation and units of every booking."""
    return tuple((row.node, row.device, row.allocation, row.units) for row in tx.execute(_booked))
