"""Power losses by the thousand: `python -m tests.powerloss [STATES [SEED]]`."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.powerloss.explore import explore, trace


def main(states: int, seed: int) -> int:
    """1 unless FULL loses nothing and NORMAL something."""
    began = time.perf_counter()
    surveys = {}
    with tempfile.TemporaryDirectory(prefix="rmctl-powerloss-") as folder:
        for synchronous in ("FULL", "NORMAL"):
            traced = trace(Path(folder), synchronous)
            syncs = sum(event.what == "S" for event in traced)
            survey = surveys[synchronous] = explore(traced, states, seed, Path(folder) / "state")
            print(f"synchronous={synchronous}: {len(traced)} events, {syncs} syncs, {survey}", flush=True)
    print(f"seed {seed}, {time.perf_counter() - began:.0f} s")
    return int(set(surveys["FULL"].outcomes) != {"whole"} or not surveys["NORMAL"].outcomes["lost"])


if __name__ == "__main__":
    asked = [int(word) for word in sys.argv[1:]]
    sys.exit(main(asked[0] if asked else 3000, asked[1] if len(asked) > 1 else time.time_ns() % 1_000_000_007))
