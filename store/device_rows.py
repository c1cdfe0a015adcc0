"""Devices as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from resources.canonical import canonical
from resources.devices import Device


def written(node: str, position: int, device: Device) -> dict[str, Any]:
    return {
        "node": node,
        "id": device.id,
        "class": device.kind,
        "attributes": canonical(device.attributes),
        "healthy": int(device.healthy),
        "bookable": int(device.bookable),
        "position": position,
        "numa": device.numa,
        "parent": device.parent,
        "links": canonical(device.links),
    }


def read(row: Mapping[str, Any]) -> Device:
    return Device(
        id=row["id"],
        kind=row["class"],
        attributes=json.loads(row["attributes"]),
        healthy=bool(row["healthy"]),
        bookable=bool(row["bookable"]),
        numa=row["numa"],
        parent=row["parent"],
        links=json.loads(row["links"]),
    )
