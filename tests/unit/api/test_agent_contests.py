"""Two agents with one credential are noticed; one that comes back is not taken for two."""

from __future__ import annotations

from api.agent_contests import OFTEN, WITHIN_SECONDS, Contests


def test_agents_that_push_each_other_out_are_noticed_once_for_so_many_times() -> None:
    contests = Contests()
    assert [contests.opened("a", 10.0 + n) for n in range(OFTEN + 1)] == [False] * OFTEN + [True]
    assert not contests.opened("a", 20.0)


def test_a_node_that_was_away_between_contests_nothing() -> None:
    contests = Contests()
    for n in range(3 * OFTEN):
        assert not contests.opened("a", 10.0 + n)
        contests.closed("a")


def test_a_node_that_rarely_comes_back_over_an_open_stream_is_one() -> None:
    contests = Contests()
    assert not any(contests.opened("a", n * WITHIN_SECONDS) for n in range(3 * OFTEN))


def test_nodes_are_counted_apart() -> None:
    contests = Contests()
    assert not any(contests.opened(name, 10.0) for _ in range(OFTEN) for name in ("a", "b"))
