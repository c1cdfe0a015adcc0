"""Pages and tallies: the same answers as reading everything, whatever the size of a page."""

from __future__ import annotations

from collections import Counter

import pytest

from resources.conditions import condition
from resources.effect import Effect
from resources.job import JobStatus
from resources.pool import PoolStatus
from resources.reference import Ref
from store import effects, paging, resources, tallies
from store.store import Store
from tests.builders import a_bundle, a_pool

NAMES = [("default", "b"), ("default", "a"), ("blue", "z"), ("blue", "a-1"), ("red", "a"), ("default", "a-1")]


def fill(store: Store) -> None:
    def write(tx):
        resources.create(tx, Ref("pool", "local"), a_pool())
        for project, name in NAMES:
            resources.create(tx, Ref("bundle", name, project), a_bundle())

    store.write(write)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("project", [None, "default", "blue", "nobody"])
def test_pages_put_together_are_the_whole_list(store, size, project):
    fill(store)
    with store.read() as tx:
        whole = [(one.project, one.name) for one in resources.list_all(tx, "bundle", project)]
        found, after = [], None
        while True:
            assert paging.left(tx, "bundle", project, after) == len(whole) - len(found)
            page = paging.page(tx, "bundle", project, after, size)
            if not page:
                break
            found += [(one.project, one.name) for one in page]
            after = found[-1]
    assert found == whole


def test_conditions_are_counted_as_they_stand(store):
    fill(store)

    def judge(tx):
        pool = resources.get(tx, Ref("pool", "local"))
        told = (condition("Ready", False, "NoNodes"), condition("CapacityShort", True, "NoFit"))
        resources.replace_status(tx, pool, PoolStatus(conditions=told))
        for project, name in NAMES[:2]:
            made = resources.create(tx, Ref("job", f"{name}.primary.web", project), JOB)
            status = JobStatus(waiting_since=tx.now - len(name), conditions=(condition("Ready", False, "NoFit"),))
            resources.replace_status(tx, made, status)
            effects.record(tx, made, Effect("StartJob", "start/1/1", "agents", {}, "node-a"))

    store.write(judge)
    with store.read() as tx:
        counted: Counter[tuple[str, str, str, str]] = Counter()
        for kind in ("pool", "bundle", "job"):
            for one in resources.list_all(tx, kind):
                counted.update((kind, c.type, c.status, c.reason) for c in one.status.conditions)
        assert tallies.conditions(tx) == dict(counted)
        assert tallies.conditions(tx)["job", "Ready", "False", "NoFit"] == 2
        assert tallies.waiting_since(tx) == {"job": "1970-01-01T00:16:39Z"}
        assert tallies.open_effects(tx) == {("agents", "pending"): 2}


JOB = {"bundle": "b", "role": "primary", "index": 0, "pool": "local", "jobName": "web", "command": ["x"],
       "requirements": {"requiredCapacity": 1, "onRuntimeFailure": "avoidSpare"}}  # fmt: skip
