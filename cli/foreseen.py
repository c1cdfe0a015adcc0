"""A reservation's preview as lines: where it would be booked, or why nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cli.tables import lines
from cli.terminal import safe


def told(preview: dict[str, Any]) -> Iterator[str]:
    candidates = preview.get("candidates") or ()
    if not preview.get("fits"):
        yield safe(f"waits: {preview.get('reason', '')}")
    rows = [(f"→ {one.get('node')}", _devices(one), _score(one)) for one in candidates]
    yield from map(safe, lines(rows))
    if preview.get("preemptible"):
        others = preview["preemptible"]
        names = ", ".join(f"reservation/{name}" for name in others.get("reservations", ()))
        yield safe(f"would fit from {others.get('startsAt')} without {names}")


def _devices(one: dict[str, Any]) -> str:
    return ", ".join(map(str, one.get("atoms") or ())) or "-"


def _score(one: dict[str, Any]) -> str:
    return f"score {one['score']:g}" if "score" in one else ""
