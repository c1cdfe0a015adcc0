"""What FULL promises and NORMAL does not: nothing acknowledged is lost when the power goes."""

from __future__ import annotations

import time
from pathlib import Path

from tests.powerloss.explore import explore, trace


def test_no_acknowledged_commit_is_lost_with_full_and_some_are_with_normal(tmp_path: Path) -> None:
    seed = time.time_ns() % 1_000_000_007
    full = explore(trace(tmp_path, "FULL"), 300, seed, tmp_path / "state")
    assert (set(full.outcomes), full.most_lost) == ({"whole"}, 0), f"seed {seed}: {full}"
    normal = explore(trace(tmp_path, "NORMAL"), 120, seed, tmp_path / "state")
    assert set(normal.outcomes) == {"whole", "lost"}, f"seed {seed}: {normal}"
