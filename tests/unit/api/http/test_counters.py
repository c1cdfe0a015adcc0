"""What each note of a commit counts."""

from __future__ import annotations

import pytest

from api.http.counters import NAMES, counted
from resources.allocation import Allocation
from resources.reference import Ref
from store.notes import Answered, Evented, Released, Reserved

JOB = Ref("job", "ch-1.primary.web", "default")
ALLOCATION = Allocation("a", "u", JOB, "i", "local", "node-a", 1000)


@pytest.mark.parametrize(
    ("note", "names"),
    [
        (Reserved(ALLOCATION), ("placements_attempted",)),
        (Released(ALLOCATION), ()),
        (Evented(JOB, "PlacementFailed"), ("placements_attempted", "placements_failed")),
        (Evented(JOB, "JobUpdated"), ()),
        (Evented(JOB, "JobDropped"), ("jobs_dropped",)),
        (Evented(Ref("bundle", "ch-1", "default"), "BundleBroken"), ("bundles_broken",)),
        (Answered("StartJob", "applied", ""), ("placements_succeeded",)),
        (Answered("StartJob", "pending", ""), ()),
        (Answered("StartJob", "indeterminate", ""), ()),
        (Answered("StartJob", "rejected", "cancelled"), ()),
        (Answered("StartJob", "rejected", "JOB_REJECTED_NO_CAPACITY"), ("jobs_rejected",)),
        (Answered("StartJob", "rejected", "UNSUPPORTED"), ("placements_dispatch_failed",)),
        (Answered("StopJob", "rejected", "UNSUPPORTED"), ()),
    ],
)
def test_notes_are_counted_once_each(note, names):
    assert counted(note) == names
    assert set(names) <= set(NAMES)
