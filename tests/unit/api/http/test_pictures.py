"""What the pages draw: who holds what of a node, and the restarts of an hour."""

from __future__ import annotations

from api.http.pages.bars import Claimed, Part, bar, hour

NOW = 10_000.0


def test_each_claim_has_its_own_part_with_its_name() -> None:
    drawn = bar(4, 4, 3, "x", [Claimed(1, "a"), Claimed(2, "b")])
    assert drawn.parts == (
        Part("claimed", 0.0, 59.0, "a"),
        Part("claimed", 60.0, 119.0, "b"),
        Part("free", 180.0, 60.0),
    )


def test_claims_that_do_not_add_up_are_drawn_as_one() -> None:
    assert bar(4, 4, 3, "x", [Claimed(1, "a")]).parts == (Part("claimed", 0.0, 180.0), Part("free", 180.0, 60.0))


def test_an_hour_has_a_mark_for_each_restart_in_it() -> None:
    drawn = hour([NOW - 1800, NOW - 3700, NOW - 36], NOW, 6)
    assert drawn is not None
    assert [mark.x for mark in drawn.marks] == [240.0, 475.2]
    assert drawn.label == "2 of 6 restarts in the last hour: 30m ago, 36s ago"


def test_an_hour_without_restarts_is_not_drawn() -> None:
    assert hour([NOW - 3700], NOW, 6) is None
