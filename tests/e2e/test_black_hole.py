"""One node of ten swallows every job: the others run them all, and it gets no more."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import pytest

from tests.builders import a_bundle, a_job_entry
from tests.fake_agents import prepare_folder
from tests.fake_workers import REFUSAL, Manner, Workers
from tests.fleet import Fleet, a_fleet

NODES, BUNDLES, JOBS = 10, 10, 10
SHARE = 0.33
"""Of 4 vcpu: the hundred jobs leave no good node with 3 free."""


def manifest(name: str, jobs: int, vcpu: float) -> dict[str, Any]:
    entries = [a_job_entry(f"j{number}", requirements={"requiredCapacity": vcpu}) for number in range(jobs)]
    spec = a_bundle(*entries, pool="default")
    return {"apiVersion": "rmctl/v1", "kind": "bundle", "metadata": {"name": name}, "spec": spec}


def listed(fleet: Fleet, plural: str) -> dict[str, Any]:
    return {one["metadata"]["name"]: one for one in json.loads(fleet.rmctl("get", plural, "-o", "json").out)["items"]}


def condition(document: dict[str, Any], type_: str) -> dict[str, Any]:
    return next((c for c in document["status"]["conditions"] if c["type"] == type_), {})


def run_them(fleet: Fleet) -> None:
    items = [manifest(f"b{number}", JOBS, SHARE) for number in range(BUNDLES)]
    ran = fleet.rmctl("apply", "-f", "-", stdin=json.dumps({"kind": "List", "items": items}))
    assert ran.code == 0, ran.err
    for number in range(BUNDLES):
        ran = fleet.rmctl("wait", f"bundle/b{number}", "--for=Ready", "--timeout=300s")
        assert ran.code == 0, ran.err


@pytest.mark.req("S14")
@pytest.mark.one_of("manners")
@pytest.mark.parametrize("manner", ["refuses", "ends"])
@pytest.mark.anyio
async def test_a_hundred_jobs_run_although_one_node_takes_none(manner: Manner) -> None:
    """It is named first and stays the emptiest, so the placer would like it best."""
    names = [f"node-{number}" for number in range(NODES)]
    bad = names[0]
    with a_fleet() as fleet:
        prepare_folder(fleet.folder, names)
        await asyncio.to_thread(fleet.server)
        manners: dict[str, Manner] = {name: manner if name == bad else "obeys" for name in names}
        workers = Workers(f"unix:{fleet.folder}/agents.sock", manners)
        with anyio.fail_after(600):
            async with workers.running():
                await asyncio.to_thread(run_them, fleet)
                waited = await asyncio.to_thread(
                    fleet.rmctl, "wait", f"node/{bad}", "--for=condition=Unhealthy", "--timeout=300s"
                )
                assert waited.code == 0, waited.err
                more = json.dumps(manifest("more", 1, 3))
                assert (await asyncio.to_thread(fleet.rmctl, "apply", "-f", "-", stdin=more)).code == 0
                waited = await asyncio.to_thread(
                    fleet.rmctl, "wait", "job/more/primary/j0", "--for=condition=Unschedulable", "--timeout=300s"
                )
                assert waited.code == 0, waited.err
                jobs = await asyncio.to_thread(listed, fleet, "jobs")
                nodes = await asyncio.to_thread(listed, fleet, "nodes")
                bundles = await asyncio.to_thread(listed, fleet, "bundles")
    told = condition(nodes[bad], "Unhealthy")
    if manner == "refuses":
        assert (told["reason"], len(nodes[bad]["status"]["rejections"])) == ("Rejections", 3)
        assert REFUSAL in told["message"]
    else:
        assert told["reason"] == "BlackHole"
    running = [job["status"].get("node") for name, job in jobs.items() if not name.startswith("more")]
    assert (len(running), bad in running, None in running) == (BUNDLES * JOBS, False, False)
    assert all(bundle["status"]["state"] == "live" for bundle in bundles.values())
    assert "1 × unhealthy" in condition(jobs["more.primary.j0"], "Unschedulable")["message"]
    assert workers.workers[bad].starts >= 3
