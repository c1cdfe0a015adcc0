"""Durations and ages: how people write them, and how they are printed."""

from __future__ import annotations

import re

from cli import messages
from cli.errors import UsageProblem

PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)", re.ASCII)
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST_SECONDS = 366 * 86400


def seconds(text: str) -> float:
    """`90s`, `10m`, `1h30m` in seconds. Raises UsageProblem for anything else, for zero and for more than a year."""
    found = PART.findall(text)
    total = sum(float(number) * SECONDS[unit] for number, unit in found)
    if "".join(number + unit for number, unit in found) != text or not 0 < total <= LONGEST_SECONDS:
        raise UsageProblem(messages.DURATION.format(text=text))
    return total


def age(span: float) -> str:
    """As tables print it: the largest unit alone, `41s`, `6m`, `3h`, `12d`."""
    whole = max(0, int(span))
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def span(length: float) -> str:
    """As sentences print it: two units, `36s`, `6m04s`, `3h12m`, `2d`; below ten seconds a tenth, `2.5 s`."""
    if 0 <= length < 10 and length != int(length):
        return f"{length:.1f} s"
    whole = max(0, int(length))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s" if whole % 60 else f"{whole // 60}m"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m" if whole % 3600 >= 60 else f"{whole // 3600}h"
    return f"{whole // 86400}d"
