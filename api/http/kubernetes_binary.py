"""The few requests that kubectl sends as Kubernetes protobuf and in no other form: its questions about access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.problems import bad_request
from resources.canonical import Document

MEDIA = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
RAW = 2
"""The field of the envelope that holds the object."""
TEXT = 2
"""The wire type of what has a length: texts and messages."""
RESOURCE = {1: "namespace", 2: "verb", 3: "group", 4: "version", 5: "resource", 6: "subresource", 7: "name"}
PATH = {1: "path", 2: "verb"}
REVIEW = {2: ("spec", {1: ("resourceAttributes", RESOURCE), 2: ("nonResourceAttributes", PATH)})}
"""Field numbers of a SelfSubjectAccessReview: each a text's name, or a message's name and fields."""


def review(data: bytes) -> Document:
    """A SelfSubjectAccessReview. Raises a 400 problem for bytes that are none."""
    if not data.startswith(MAGIC):
        raise bad_request("the body is not Kubernetes protobuf")
    try:
        return _message(_fields(data[len(MAGIC) :]).get(RAW, b""), REVIEW)
    except (IndexError, UnicodeDecodeError):
        raise bad_request("the body is not Kubernetes protobuf") from None


def _message(data: bytes, known: Mapping[int, Any]) -> Document:
    found: Document = {}
    for number, value in _fields(data).items():
        match known.get(number):
            case str(name):
                found[name] = value.decode()
            case (str(name), inner):
                found[name] = _message(value, inner)
    return found


def _fields(data: bytes) -> dict[int, bytes]:
    """What has a length, by field number. Raises IndexError for what ends too early, or is of another wire type."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        length, at = _number(data, at)
        if tag & 7 == 0:
            continue
        if tag & 7 != TEXT or at + length > len(data):
            raise IndexError
        found[tag >> 3] = data[at : at + length]
        at += length
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where the next one begins."""
    value = shift = 0
    while shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise IndexError
