"""Canonical JSON: one text for one value, so that equality and fingerprints are well defined."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]
"""A JSON object as read from a wire: the one place where `Any` is at home."""
MAX_DEPTH = 64
"""Of what is taken from others: whatever reads it again may do so by recursion."""

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
).encode


def canonical(value: object) -> str:
    """Keys sorted by code point, no blanks.

    Raises ValueError for what JSON cannot say (NaN, infinities, other types, a value inside itself).
    """
    try:
        return _encode(value)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def fingerprint(value: object) -> str:
    """SHA-256 of the canonical JSON, in hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def size(value: object) -> int:
    """UTF-8 bytes of the canonical JSON."""
    return len(canonical(value).encode())


def depth(value: object) -> int:
    """How many objects and arrays stand inside each other, of what JSON can say."""
    found, level = 0, [value]
    while level := [one for one in level if isinstance(one, Mapping | list | tuple)]:
        found += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, Mapping) else one)]
    return found


def without(document: Mapping[str, Any], *names: str) -> Document:
    """A shallow copy less some keys."""
    return {key: value for key, value in document.items() if key not in names}
