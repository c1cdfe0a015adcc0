"""When a thousand agents return: spread over a round, however long their server was away, and all of them soon."""

from __future__ import annotations

import random
from itertools import accumulate, takewhile

import pytest

from agent.connection import FIRST_PAUSE_SECONDS, ROUND_SECONDS, a_round, pauses

AGENTS = 1000


def returns(away: float, seed: int) -> list[float]:
    """For each agent, how long after the server's return it dials next."""
    draw = random.Random(seed).uniform
    found = []
    for _ in range(AGENTS):
        dials = accumulate(pauses(draw))
        found.append(next(at - away for at in dials if at >= away))
    return found


@pytest.mark.req("S17")
@pytest.mark.parametrize("away", [20.0, 30.0, 47.3, 60.0, 90.0, 600.0])
def test_no_second_holds_more_than_its_share(away):
    found = sorted(returns(away, seed=7))
    fullest = max(sum(start <= at < start + 1 for at in found) for start in (0.0, *found))
    assert fullest <= 0.15 * AGENTS
    assert found[-1] <= ROUND_SECONDS


def test_a_server_that_is_started_again_is_dialled_at_once():
    waits = list(takewhile(lambda pause: pause < ROUND_SECONDS / 2, pauses(lambda low, high: high)))
    assert waits == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize(("fence", "within"), [(0.0, ROUND_SECONDS), (40.0, ROUND_SECONDS), (3.0, 1.5), (0.1, 0.5)])
def test_agents_of_an_impatient_pool_are_back_before_they_are_missed(fence: float, within: float):
    assert a_round(fence) == within
    waits = pauses(lambda low, high: high, a_round(fence))
    assert max(next(waits) for _ in range(20)) <= max(within, FIRST_PAUSE_SECONDS)
