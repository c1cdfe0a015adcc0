"""Fresh seeds for so many seconds: `python -m tests.simulation SECONDS [FIRST_SEED]`."""

from __future__ import annotations

import logging
import sys
import time
import traceback

import structlog

from tests.simulation.world import World


def main(seconds: float, first: int) -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    began = time.perf_counter()
    seeds, steps, hours = 0, 0, 0.0
    counts: dict[str, int] = {}
    violations = []
    while time.perf_counter() - began < seconds:
        seed = first + seeds
        world = World(seed)
        try:
            steps += world.run()
        except Exception as error:  # every way to fail is a finding, printed with its seed
            violations.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {error}")
            if len(violations) == 1:
                traceback.print_exc()
                print("last steps:", " ".join(world.scheduler.trace[-50:]))
            if len(violations) >= 5:
                break
        seeds += 1
        hours += world.scheduler.monotonic / 3600
        for name, count in world.counts.items():
            counts[name] = counts.get(name, 0) + count
    minutes = (time.perf_counter() - began) / 60
    faults = ", ".join(f"{count} {name}" for name, count in counts.items())
    print(
        f"{seeds} seeds from {first} ({seeds / minutes:.0f} a minute), {hours:.0f} virtual hours, {steps} steps, "
        f"{faults}, {len(violations)} violations"
    )
    return 1 if violations else 0


if __name__ == "__main__":
    arguments = [float(text) for text in sys.argv[1:]]
    seconds = arguments[0] if arguments else 60.0
    sys.exit(main(seconds, int(arguments[1]) if len(arguments) > 1 else time.time_ns() % 1_000_000_007))
