"""Durations as a table shows them: `41s`, `3h12m`, `12d`."""

from __future__ import annotations

MINUTE, HOUR, DAY = 60, 3600, 86400


def short(seconds: float) -> str:
    """Two units at most, and only one once the larger is long enough: as kubectl prints an age."""
    whole = max(0, int(seconds))
    if whole < 2 * MINUTE:
        return f"{whole}s"
    if whole < 10 * MINUTE:
        return _two(whole, MINUTE, "m", 1, "s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _two(whole, HOUR, "h", MINUTE, "m")
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _two(whole, DAY, "d", HOUR, "h")
    return f"{whole // DAY}d"


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    first, rest = divmod(seconds, large)
    second = rest // small
    return f"{first}{large_name}{second}{small_name}" if second else f"{first}{large_name}"


def age(seconds: float) -> str:
    """As `rmctl get` prints it: the largest unit alone."""
    whole = max(0, int(seconds))
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def span(seconds: float) -> str:
    """As sentences of `rmctl` say it: two units, and below ten seconds a tenth."""
    if 0 <= seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m{whole % MINUTE:02d}s" if whole % MINUTE else f"{whole // MINUTE}m"
    if whole < DAY:
        return f"{whole // HOUR}h{whole % HOUR // MINUTE:02d}m" if whole % HOUR >= MINUTE else f"{whole // HOUR}h"
    return f"{whole // DAY}d"
