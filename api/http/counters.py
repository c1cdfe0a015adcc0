"""Counters of what commits tell, from 0 at each start: placements, and jobs and bundles that came to nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from store.notes import Answered, Evented, Reserved
from store.store import Store

PREFIX = "rm_"
BY_EVENT = {
    "PlacementFailed": ("placements_attempted", "placements_failed"),
    "BundleBroken": ("bundles_broken",),
    "JobDropped": ("jobs_dropped",),
}
NAMES = (
    "placements_attempted",
    "placements_succeeded",
    "placements_failed",
    "placements_dispatch_failed",
    "jobs_rejected",
    "bundles_broken",
    "jobs_dropped",
)
DISPATCHES = frozenset({"StartJob", "PrepareJob", "RunNode"})
REFUSED_BY_AGENT = "JOB_REJECTED"


class Counters:
    """A placement is attempted when room is taken or none was found; it succeeds when the start is under way."""

    def __init__(self, store: Store) -> None:
        self._counts = dict.fromkeys(NAMES, 0)
        self._lock = threading.Lock()
        store.subscribe(self._committed)

    def __call__(self) -> Mapping[str, float]:
        """By metric name."""
        with self._lock:
            return {f"{PREFIX}{name}_total": float(count) for name, count in self._counts.items()}

    def _committed(self, notes: Sequence[object]) -> None:
        names = [name for note in notes for name in counted(note)]
        if names:
            with self._lock:
                for name in names:
                    self._counts[name] += 1


def counted(note: object) -> tuple[str, ...]:
    """What one note adds one to."""
    match note:
        case Reserved():
            return ("placements_attempted",)
        case Evented(type=type_):
            return BY_EVENT.get(type_, ())
        case Answered(kind=kind, state="applied") if kind in DISPATCHES:
            return ("placements_succeeded",)
        case Answered(kind=kind, state="rejected", code=code) if kind in DISPATCHES and code != "cancelled":
            return ("jobs_rejected",) if code.startswith(REFUSED_BY_AGENT) else ("placements_dispatch_failed",)
        case _:
            return ()
