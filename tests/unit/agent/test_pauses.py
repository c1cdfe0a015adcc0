"""When a thousand agents return: spread over a round, however long their server was away, and all of them soon."""

from __future__ import annotations

import random
from itertools import accumulate, takewhile

import pytest

from agent.connection import ROUND_SECONDS, pauses

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
