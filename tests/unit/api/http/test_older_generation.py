"""A Ready that was true of an older spec is shown as ready by nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from api.http import summary, why
from cli import goals
from cli.views import wire
from resources.conditions import condition
from resources.pool import PoolStatus
from resources.wire import to_wire
from store import resources, tallies
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked


@pytest.fixture
def changed(tmp_path: Path):
    """A pool that was ready, in the store, the moment after its spec was changed."""
    store = Store.open(tmp_path, Clocked())

    def write(tx) -> Any:
        made = resources.create(tx, POOL, a_pool())
        status = PoolStatus(conditions=(condition("Ready", True, "HasCapacity", "1 node"),))
        ready = resources.replace_status(tx, made, status)
        return ready, resources.replace(tx, ready, document=a_pool(maxRestartsPerHour=1))

    before, after = store.write(write)
    yield store, before, after
    store.close()


@pytest.mark.req("T10")
def test_ready_of_an_older_generation_is_shown_as_ready_by_nobody(changed) -> None:
    store, before, after = changed
    answers = []
    for resource in (before, after):
        document = to_wire(resource)
        goal = goals.parse_goal("Ready")
        answers.append(
            {
                "rmctl get": wire.ready(document).status,
                "rmctl wait": bool(goal.reached(document)),
                "pages and tables": summary.ready(document).status,
                "why of its owner": why._child(resource)[1],
            }
        )
    with store.read() as tx:
        counted = tallies.conditions(tx)
    was = {"rmctl get": "True", "rmctl wait": True, "pages and tables": "True", "why of its owner": "True"}
    now = {"rmctl get": "Unknown", "rmctl wait": False, "pages and tables": "Unknown", "why of its owner": "Unknown"}
    assert answers == [was, now]
    assert counted == {("pool", "Ready", "Unknown", "HasCapacity"): 1}
