"""Instants: unix seconds inside, RFC 3339 with Z outside."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

LAST = 253402214400.0
"""9999-12-31T00:00:00Z: what comes later has no RFC 3339 text in some zone."""
OUTSIDE = "must lie between 1970-01-01T00:00:00Z and 9999-12-31T00:00:00Z"


@lru_cache(1024)
def rfc3339(seconds: float) -> str:
    """Milliseconds are kept; whole seconds are printed without a fraction."""
    at = datetime.fromtimestamp(kept(seconds), UTC)
    text = at.isoformat(timespec="milliseconds" if at.microsecond else "seconds")
    return text.removesuffix("+00:00") + "Z"


def kept(seconds: float) -> float:
    """The instant as it comes back from the wire or the store: in whole milliseconds."""
    return round(seconds * 1000) / 1000


def instant(value: object) -> float:
    """Unix seconds of a number or an RFC 3339 text with an offset, from 1970 to 9999. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return timestamp(value)
    if not 0 <= value <= LAST:
        raise ValueError(OUTSIDE)
    return float(value)


def timestamp(value: object) -> float:
    """Unix seconds of an RFC 3339 text with an offset, from 1970 to 9999. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("expected an RFC 3339 time such as 2026-01-31T12:00:00Z")
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("expected an RFC 3339 time such as 2026-01-31T12:00:00Z") from None
    if at.tzinfo is None:
        raise ValueError("expected an RFC 3339 time with an offset, such as 2026-01-31T12:00:00Z")
    try:
        seconds = at.timestamp()
    except (OverflowError, ValueError):
        raise ValueError(OUTSIDE) from None
    if not 0 <= seconds <= LAST:
        raise ValueError(OUTSIDE)
    return seconds
