"""Kept seeds and a few of every profile hold what is promised; the same seed plays the same run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.registry import CONTROLLERS
from tests.simulation.profiles import PROFILES
from tests.simulation.world import World
from tests.whole import share

ROOT = Path(__file__).resolve().parents[2]
EACH = share(3)
"""Fixed seeds of every profile."""
DIGEST = """
from tests.simulation.quiet import log_nothing
from tests.simulation.world import World
log_nothing()
world = World(7, "snapshots")
world.run()
print(world.scheduler.digest())
"""


def kept() -> Iterator[tuple[str, int]]:
    for line in Path(__file__).with_name("seeds").read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if words:
            yield words[0], int(words[1])


@pytest.mark.parametrize(("profile", "seed"), [*kept(), *((name, 1 + n) for name in PROFILES for n in range(EACH))])
def test_what_is_promised_holds(profile: str, seed: int) -> None:
    World(seed, profile).run()


def test_a_seed_plays_the_same_run_whatever_the_hashes_of_the_process() -> None:
    digests = set()
    for hashes in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hashes}
        ran = subprocess.run([sys.executable, "-c", DIGEST], cwd=ROOT, env=environment, capture_output=True, check=True)
        digests.add(ran.stdout)
    assert len(digests) == 1


def test_a_seed_plays_the_same_run_twice_in_one_process() -> None:
    digests = set()
    for _ in range(2):
        world = World(3, "all")
        world.run()
        digests.add(world.scheduler.digest())
    assert len(digests) == 1


def test_every_kind_with_a_controller_is_touched_by_the_workload() -> None:
    touched: set[str] = set()
    for seed in range(3):
        world = World(seed, "quiet")
        world.run()
        touched |= world.watcher.kinds
    assert {controller.kind for controller in CONTROLLERS} - touched == set()
