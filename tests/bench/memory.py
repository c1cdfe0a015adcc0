"""B15: what a server holds in memory with 1,000 nodes among 10,000 resources."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cli.address import Address
from cli.client import Client
from controllers.runtime.environment import Threads
from resources.reference import Ref
from store import resources
from store.store import Store
from store.tx import Tx
from tests.bench.figures import Figure
from tests.builders import a_bundle, a_job_entry
from tests.fleet import a_fleet

NODES = 1_000
BUNDLES = 4_500
"""Of one job each, which its bundle makes."""
STEP = 250
POOL = {"tiers": [{"name": "local", "kind": "local-servers", "scaleOut": "fixed"}]}
GOAL_MB = 250


def measure() -> Iterator[Figure]:
    with a_fleet() as fleet:
        store = Store.open(fleet.folder, Threads())
        store.write(lambda tx: resources.create(tx, Ref("pool", "default"), POOL))
        for first in range(0, NODES, STEP):
            store.write(partial(_nodes, first=first))
        for first in range(0, BUNDLES, STEP):
            store.write(partial(_bundles, first=first))
        store.close()
        server = fleet.server().popen
        fresh = _resident(server.pid)
        _settled(fleet.folder)
        Client(Address("unix", str(fleet.folder / "rmctl.sock"))).get("/apis/rmctl/v1/jobs")
        held = _resident(server.pid)
    text = f"{held:.0f} MB, {fresh:.0f} MB when it was ready"
    yield Figure("B15 10,000 resources", text, f"≤ {GOAL_MB} MB", held <= GOAL_MB)


def _nodes(tx: Tx, first: int) -> None:
    for number in range(first, first + STEP):
        resources.create(tx, Ref("node", f"node-{number}"), {"pool": "default"})


def _bundles(tx: Tx, first: int) -> None:
    """Jobs that wait to be started by hand: there is no agent to run them."""
    entry = a_job_entry(startMode="manual", parameters={"text": "x" * 500})
    for number in range(first, first + STEP):
        resources.create(tx, Ref("bundle", f"b{number}", "default"), a_bundle(entry, pool="default"))


def _settled(folder: Path) -> None:
    """Until every job has been looked at; the server's own writes go on meanwhile."""
    address = Address("unix", str(folder / "rmctl.sock"))
    while True:
        jobs = Client(address).get("/apis/rmctl/v1/jobs")["items"]
        if len(jobs) == BUNDLES and all(job["status"].get("observedGeneration") for job in jobs):
            return
        time.sleep(2.0)


def _resident(pid: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
