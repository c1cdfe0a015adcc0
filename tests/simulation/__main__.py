"""Fresh seeds for so many seconds: `python -m tests.simulation SECONDS [FIRST_SEED [PROFILE]]`."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.simulation.profiles import PROFILES
from tests.simulation.quiet import log_nothing
from tests.simulation.world import World

MOST_TOLD = 5


def main(seconds: float, first: int, names: list[str]) -> int:
    log_nothing()
    began = time.perf_counter()
    seeds, steps, hours = 0, 0, 0.0
    counts: Counter[str] = Counter()
    violations = 0
    while time.perf_counter() - began < seconds and violations < MOST_TOLD:
        seed, profile = first + seeds // len(names), names[seeds % len(names)]
        world = World(seed, profile)
        try:
            world.run()
        except Exception as error:  # every way to fail is a finding, printed with its seed
            violations += 1
            print(f"{profile} {seed}: {type(error).__name__}: {error}")
            if violations == 1:
                tell(world, error)
        seeds += 1
        steps += world.scheduler.steps
        hours += world.scheduler.monotonic / 3600
        counts += world.counts
        if seeds % 20 == 0:
            gc.collect()
    minutes = (time.perf_counter() - began) / 60
    faults = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(
        f"{seeds} seeds from {first} ({seeds / minutes:.0f} a minute), {hours:.1f} virtual hours, {steps} steps, "
        f"{faults}, {violations} violations"
    )
    return 1 if violations else 0


def tell(world: World, error: Exception) -> None:
    """The commit, the last steps, and the stack where the product raised."""
    root = Path(__file__).resolve().parents[2]
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    print(f"commit {asked.stdout.strip() or 'unknown'}, last steps:")
    for at, name in world.scheduler.last:
        print(f"  {at:10.3f} {name}")
    traceback.print_exception(error)


if __name__ == "__main__":
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else time.time_ns() % 1_000_000_007
    sys.exit(main(seconds, first, sys.argv[3:] or list(PROFILES)))
