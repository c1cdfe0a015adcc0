"""Allocations as rows."""

from __future__ import annotations

import json
from typing import Any

from resources.allocation import Allocation
from resources.canonical import canonical
from resources.devices import Booking
from resources.reference import Ref


def written(a: Allocation) -> dict[str, Any]:
    return {
        "id": a.id,
        "uid": a.uid,
        "owner_project": a.owner.project,
        "owner_name": a.owner.name,
        "instance": a.instance,
        "pool": a.pool,
        "node": a.node,
        "capacity_milli": a.capacity_milli,
        "cores": a.cores,
        "memory_mib": a.memory_mib,
        "ports": canonical(list(a.ports)),
        "exclusive": int(a.exclusive),
        "kind": a.owner.kind,
        "devices": canonical([list(booking) for booking in a.devices]),
        "starts_at": a.starts_at,
        "ends_at": a.ends_at,
        "tenant": a.tenant,
        "lease": int(a.lease),
        "holder": a.holder,
        "inside": a.inside,
    }


def read(row: Any) -> Allocation:
    return Allocation(
        id=row.id,
        uid=row.uid,
        owner=Ref(row.kind, row.owner_name, row.owner_project),
        instance=row.instance,
        pool=row.pool,
        node=row.node,
        capacity_milli=row.capacity_milli,
        cores=row.cores,
        memory_mib=row.memory_mib,
        ports=tuple(json.loads(row.ports)),
        exclusive=bool(row.exclusive),
        devices=tuple(Booking(*booking) for booking in json.loads(row.devices)) if row.devices != "[]" else (),
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        tenant=row.tenant,
        lease=bool(row.lease),
        holder=row.holder,
        inside=row.inside,
    )
