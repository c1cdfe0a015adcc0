"""Windows: what is held at once, and what a job takes from a reservation."""

from __future__ import annotations

import pytest

from resources.windows import Hold, held_at, lasting, peak

NIGHTS = [Hold(3, day * 10.0, day * 10.0 + 5) for day in range(4)]


@pytest.mark.parametrize(
    ("holds", "window", "most"),
    [
        ([], (None, None), 0),
        ([Hold(2), Hold(1)], (None, None), 3),
        (NIGHTS, (0.0, None), 3),
        (NIGHTS, (None, None), 3),
        (NIGHTS, (5.0, 10.0), 0),
        ([*NIGHTS, Hold(1)], (5.0, 10.5), 4),
        ([Hold(2, 0.0, 10.0), Hold(2, 5.0, 15.0)], (0.0, 5.0), 2),
        ([Hold(2, 0.0, 10.0), Hold(2, 5.0, 15.0)], (0.0, None), 4),
        ([Hold(4, 0.0, 10.0, "r"), Hold(3, 2.0, 10.0, "r", True)], (0.0, None), 4),
        ([Hold(4, 0.0, 10.0, "r"), Hold(3, 2.0, 10.0, "s", True)], (0.0, None), 7),
        ([Hold(1, 0.0, 10.0, "r"), Hold(3, 2.0, 12.0, "r", True)], (0.0, None), 3),
    ],
)
def test_the_most_that_is_held_at_once(holds: list[Hold], window: tuple[float | None, float | None], most: int) -> None:
    assert peak(holds, *window) == most


def test_at_an_instant_what_has_begun_counts_and_what_has_ended_does_not() -> None:
    assert [held_at(NIGHTS, at) for at in (-1.0, 0.0, 4.9, 5.0, 10.0)] == [0, 3, 3, 0, 3]


def test_a_job_whose_time_is_over_is_there_for_whoever_looks_then() -> None:
    assert [lasting(10.0, now) for now in (None, 9.0, 10.0)] == [10.0, 10.0, None]
