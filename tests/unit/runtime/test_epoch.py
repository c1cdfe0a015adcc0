"""Silence counts from the server's start, and anew from every jump of its wall clock."""

from __future__ import annotations

from controllers.runtime.epoch import Epoch
from tests.clocked import Clocked


class Watched(Clocked):
    """A clock whose monotonic side is told as well."""

    passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def go(self, seconds: float, *, jump: float = 0.0) -> None:
        self.passed += seconds
        self.time += seconds + jump


def test_a_clock_that_drifts_counts_from_the_start():
    clock = Watched(1000.0)
    epoch = Epoch(clock, 1000.0)
    seen = []
    for _ in range(100):
        clock.go(10.0, jump=0.05)
        seen.append(epoch.since())
    assert set(seen) == {1000.0}


def test_a_clock_that_is_set_counts_from_then():
    clock = Watched(1000.0)
    epoch = Epoch(clock, 1000.0)
    clock.go(10.0, jump=3600.0)
    assert epoch.since() == 4610.0
    clock.go(10.0)
    assert epoch.since() == 4610.0
    clock.go(10.0, jump=-3600.0)
    assert epoch.since() == 1030.0
