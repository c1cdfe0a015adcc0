"""B13: from a request to the fork of its job's process, through a real server and a real agent."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from cli.address import Address
from cli.client import MERGE, Client
from cli.errors import ServerRefused
from resources.canonical import Document
from tests.bench.figures import Figure, percentile
from tests.builders import a_bundle, a_job_entry
from tests.fleet import Fleet, a_fleet

STARTS = 25
CHANGES_A_SECOND = 100
BUNDLES = "/apis/rmctl/v1/namespaces/default/bundles"
TEMPLATES = "/apis/rmctl/v1/namespaces/default/templates"
SHIM = (sys.executable, "-c", "import agent.shim")
GOAL_SECONDS = 0.060


class Starter:
    """One bundle of one job after the other, on one node."""

    def __init__(self, fleet: Fleet) -> None:
        self._client = Client(Address("unix", str(fleet.folder / "rmctl.sock")))
        self._instances = fleet.folder / "agents" / "mybox" / "instances"
        self._seen: set[str] = set()
        self._number = 0

    def start(self) -> float:
        """Seconds from the request to the fork."""
        self._number += 1
        name = f"b{self._number}"
        document = {
            "apiVersion": "rmctl/v1",
            "kind": "bundle",
            "metadata": {"name": name},
            "spec": a_bundle(a_job_entry(requirements={"requiredCapacity": 0.1}), pool="default"),
        }
        asked = time.time()
        self._client.send("POST", BUNDLES, document)
        forked = self._forked() - asked
        self._client.send("DELETE", f"{BUNDLES}/{name}")
        while self._there(name):
            time.sleep(0.01)
        return forked

    def _forked(self) -> float:
        """The instant that the shim of the new instance wrote down."""
        while True:
            for path in self._instances.glob("*/job.json"):
                if path.parent.name not in self._seen:
                    self._seen.add(path.parent.name)
                    return float(json.loads(path.read_text())["at"])
            time.sleep(0.002)

    def _there(self, name: str) -> bool:
        try:
            self._client.get(f"{BUNDLES}/{name}")
        except ServerRefused:
            return False
        return True


def measure() -> Iterator[Figure]:
    with a_fleet() as fleet:
        fleet.server()
        fleet.agent("mybox", "--capacity", "4")
        starter = Starter(fleet)
        starter.start()
        yield _figure("B13 idle", *_taken(starter))
        with _changes(fleet):
            yield _figure(f"B13 {CHANGES_A_SECOND} changes/s", *_taken(starter))


def _taken(starter: Starter) -> tuple[list[float], list[float]]:
    """Starts, and by turns the bare start of a shim's interpreter."""
    starts, shims = [], []
    for _ in range(STARTS):
        starts.append(starter.start())
        began = time.perf_counter()
        subprocess.run(SHIM, check=True)
        shims.append(time.perf_counter() - began)
    return starts, shims


def _figure(name: str, starts: list[float], shims: list[float]) -> Figure:
    half, bare, tail = median(starts), median(shims), percentile(starts, 0.9)
    text = f"p50 {half * 1e3:.0f} ms, {half / bare:.2f} × a bare shim; p90 {tail * 1e3:.0f} ms"
    return Figure(name, text, f"≤ {GOAL_SECONDS * 1e3:.0f} ms", half <= GOAL_SECONDS)


@contextmanager
def _changes(fleet: Fleet) -> Iterator[None]:
    """Somebody changes resources all the while."""
    client, over = Client(Address("unix", str(fleet.folder / "rmctl.sock"))), threading.Event()
    template: Document = {
        "apiVersion": "rmctl/v1",
        "kind": "template",
        "metadata": {"name": "busy"},
        "spec": {"images": ["a"]},
    }
    client.send("POST", TEMPLATES, template)

    def change() -> None:
        number = 0
        while not over.wait(1 / CHANGES_A_SECOND):
            number += 1
            labels = {"metadata": {"labels": {"n": str(number)}}}
            client.send("PATCH", f"{TEMPLATES}/busy", labels, content_type=MERGE)

    busy = threading.Thread(target=change)
    busy.start()
    try:
        yield
    finally:
        over.set()
        busy.join()
