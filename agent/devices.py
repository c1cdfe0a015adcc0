"""The devices of this machine as a file lists them: a JSON list of objects with id and class."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agent.errors import SettingsRefused
from api.proto import agent_pb2 as wire
from api.proto.translate import MOST_DEVICES, device_to_wire
from resources.devices import CLASS, CLASSES, ID, IDS, MOST_NUMA, Device
from resources.selectors import spelling

FIELDS = frozenset({"id", "class", "attributes", "healthy", "bookable", "numa", "parent", "links"})
MOST_BYTES = 1024 * 1024
MOST_CHARACTERS = 1024
LINKS = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")


class Misread(Exception):
    """Says where in the list, and what is allowed there."""


def read(path: Path) -> list[wire.Device]:
    """Raises SettingsRefused, naming the place in the file."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise SettingsRefused(f"--devices: {path}: {error.strerror}") from error
    try:
        return [device_to_wire(device) for device in _listed(_parsed(text))]
    except Misread as error:
        raise SettingsRefused(f"--devices: {path}: {error}") from None


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Changes when the file does; None while there is none."""
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_mtime_ns, known.st_size, known.st_ino


def _parsed(text: bytes) -> Any:
    if len(text) > MOST_BYTES:
        raise Misread(f"at most {MOST_BYTES} bytes")
    try:
        return json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise Misread("expected JSON: nested too deeply") from None
    except ValueError as error:
        raise Misread(f"expected JSON: {error}") from None


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f'"{next(name for name in names if names.count(name) > 1)}" is written twice')
    return found


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
    parents = {device.id: device.parent for device in found}
    for at, device in enumerate(found):
        if parents.get(device.parent or "") is not None or device.parent == device.id:
            raise Misread(f'[{at}].parent: "{device.parent}" is a part itself')
    return found


def _device(one: Any, where: str) -> Device:
    if not isinstance(one, dict):
        raise Misread(f"{where}: expected an object with id and class")
    unknown = min(set(one) - FIELDS, default=None)
    if unknown is not None:
        raise Misread(f"{where}: unknown field {unknown}; known are {', '.join(sorted(FIELDS))}")
    numa = one.get("numa")
    if numa is not None and (type(numa) is not int or not 0 <= numa <= MOST_NUMA):
        raise Misread(f"{where}.numa: expected a whole number of 0 to {MOST_NUMA}")
    parent = one.get("parent")
    name = _text(one.get("id"), ID, IDS, f"{where}.id")
    return Device(
        id=name,
        kind=_text(one.get("class"), CLASS, CLASSES, f"{where}.class"),
        attributes=_attributes(one.get("attributes", {}), f"{where}.attributes"),
        healthy=_truth(one, "healthy", where),
        bookable=_truth(one, "bookable", where),
        numa=numa,
        parent=None if parent is None else _text(parent, ID, IDS, f"{where}.parent"),
        links=_links(one.get("links", {}), name, f"{where}.links"),
    )


def _text(value: Any, pattern: re.Pattern[str], allowed: str, where: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Misread(f"{where}: expected {allowed}")
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
        if not f"{name}{value}".isprintable() or len(f"{name}{value}") > MOST_CHARACTERS:
            raise Misread(f"{where}.{name!a}: at most {MOST_CHARACTERS} printable characters with its value")
    return {name: spelling(value) for name, value in given.items() if value is not None}


def _links(given: Any, own: str, where: str) -> dict[str, str]:
    """A list names the devices that NVLink joins to this one; an object says of each how near it is."""
    if isinstance(given, list) and all(isinstance(other, str) for other in given):
        given = dict.fromkeys(given, "NV")
    if not isinstance(given, dict):
        raise Misread(f"{where}: expected a list of ids, or an object from id to one of {', '.join(LINKS)}")
    for other, word in given.items():
        if other == own or not ID.fullmatch(other):
            raise Misread(f"{where}: {other!a} is not the id of another device")
        if not isinstance(word, str) or word.rstrip("0123456789") not in LINKS:
            raise Misread(f"{where}.{other}: expected one of {', '.join(LINKS)}")
    return {other: word.rstrip("0123456789") for other, word in given.items()}
