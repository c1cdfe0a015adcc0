"""Some of the seeded defects are found, each listed one can be put in, and none of the promised ones is missing."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.defects import ROOT, Defect, edited, listed, verdict
from tests.simulation.profiles import PROFILES

DEFECTS = {defect.name: defect for defect in listed()}
CHEAP = ("effect_after_call", "skip_replace_cleanup", "no_token", "lost_view_update", "rule_of_today")
"""Found within their first seeds; `./dev defects` plays all."""
PROMISED = {
    "attempt_not_in_key", "batch_survivor_acked", "effect_after_call", "fence_from_receive_time", "finalizer_early",
    "gen_not_in_key", "ignore_pending_on_delete", "lost_view_update", "lost_wakeup", "no_cas", "no_fence", "no_grace",
    "no_inflight_wait", "no_observe", "no_status_before_kill", "no_token", "obs_gen_latest", "release_on_stop_intent",
    "skip_replace_cleanup", "stale_view_settles", "trust_unknown",
}  # fmt: skip


@pytest.mark.parametrize("name", CHEAP)
def test_the_simulation_finds_the_defect(name: str) -> None:
    found, told = verdict(DEFECTS[name], budget=20)
    assert found, told


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS.keys())
def test_a_listed_defect_can_be_put_in(defect: Defect) -> None:
    """What its edits look for stands in the source, exactly once, and what comes of it is Python."""
    sources: dict[str, str] = {}
    for edit in defect.edits:
        before = sources.get(edit.file) or (ROOT / edit.file).read_text(encoding="utf-8")
        sources[edit.file] = edited(before, edit)
    for file, source in sources.items():
        compile(source, file, "exec")
    assert defect.profile in PROFILES


def test_every_promised_defect_is_listed_once() -> None:
    assert [name for name, times in Counter(d.name for d in listed()).items() if times > 1] == []
    assert PROMISED - DEFECTS.keys() == set()
