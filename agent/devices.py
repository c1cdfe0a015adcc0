"""The devices of this machine as a file lists them: a JSON list of objects with id and class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent.errors import SettingsRefused
from api.proto import agent_pb2 as wire
from api.proto.translate import MOST_DEVICES, device_to_wire
from resources.devices import Device
from resources.selectors import spelling

FIELDS = frozenset({"id", "class", "attributes", "healthy", "bookable", "numa", "parent", "links"})
LINKS = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")


class Misread(Exception):
    """Says where in the list, and what is allowed there."""


def read(path: Path) -> list[wire.Device]:
    """Raises SettingsRefused, naming the place in the file."""
    try:
        listed = json.loads(path.read_bytes())
    except OSError as error:
        raise SettingsRefused(f"--devices: {path}: {error.strerror}") from error
    except ValueError as error:
        raise SettingsRefused(f"--devices: {path}: expected JSON: {error}") from error
    try:
        return [device_to_wire(device) for device in _listed(listed)]
    except Misread as error:
        raise SettingsRefused(f"--devices: {path}: {error}") from None


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Changes when the file does; None while there is none."""
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_mtime_ns, known.st_size, known.st_ino


def _listed(document: Any) -> list[Device]:
    if not isinstance(document, list):
        raise Misread("expected a list of objects with id and class")
    if len(document) > MOST_DEVICES:
        raise Misread(f"at most {MOST_DEVICES} devices")
    found = [_device(one, f"[{at}]") for at, one in enumerate(document)]
    ids = [device.id for device in found]
    twice = next((at for at, name in enumerate(ids) if name in ids[:at]), None)
    if twice is not None:
        raise Misread(f'[{twice}].id: "{ids[twice]}" is listed twice')
    return found


def _device(one: Any, where: str) -> Device:
    if not isinstance(one, dict):
        raise Misread(f"{where}: expected an object with id and class")
    unknown = min(set(one) - FIELDS, default=None)
    if unknown is not None:
        raise Misread(f"{where}: unknown field {unknown}; known are {', '.join(sorted(FIELDS))}")
    numa = one.get("numa")
    if numa is not None and (type(numa) is not int or numa < 0):
        raise Misread(f"{where}.numa: expected a whole number of at least 0")
    parent = one.get("parent")
    if parent is not None and not isinstance(parent, str):
        raise Misread(f"{where}.parent: expected text")
    return Device(
        id=_text(one, "id", where),
        kind=_text(one, "class", where),
        attributes=_attributes(one.get("attributes", {}), f"{where}.attributes"),
        healthy=_truth(one, "healthy", where),
        bookable=_truth(one, "bookable", where),
        numa=numa,
        parent=parent,
        links=_links(one.get("links", {}), f"{where}.links"),
    )


def _text(one: dict[str, Any], name: str, where: str) -> str:
    value = one.get(name)
    if not isinstance(value, str) or not value or len(value) > 253:
        raise Misread(f"{where}.{name}: expected text of 1 to 253 characters")
    return value


def _truth(one: dict[str, Any], name: str, where: str) -> bool:
    value = one.get(name, True)
    if not isinstance(value, bool):
        raise Misread(f"{where}.{name}: expected true or false")
    return value


def _attributes(given: Any, where: str) -> dict[str, str]:
    """Null is an attribute that is not there."""
    if not isinstance(given, dict):
        raise Misread(f"{where}: expected an object")
    for name, value in given.items():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise Misread(f"{where}.{name}: expected text, a number, true, false or null")
    return {name: spelling(value) for name, value in given.items() if value is not None}


def _links(given: Any, where: str) -> dict[str, str]:
    """A list names the devices that NVLink joins to this one; an object says of each how near it is."""
    if isinstance(given, list) and all(isinstance(other, str) for other in given):
        return dict.fromkeys(given, "NV")
    if not isinstance(given, dict):
        raise Misread(f"{where}: expected a list of ids, or an object from id to one of {', '.join(LINKS)}")
    for other, word in given.items():
        if not isinstance(word, str) or word.rstrip("0123456789") not in LINKS:
            raise Misread(f"{where}.{other}: expected one of {', '.join(LINKS)}")
    return {other: word.rstrip("0123456789") for other, word in given.items()}
