"""The demo: a server, three nodes and the examples, each brought to the state that its file expects."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from cli import paths
from cli.address import parse_address
from cli.apply import send
from cli.demo_ground import free_port, take
from cli.demo_processes import EXAMPLES, NODES, Processes
from cli.errors import CliError, Unreachable
from cli.flags import Flags
from cli.manifests import Manifest, load
from cli.session import Session
from cli.targets import Target
from cli.terminal import out, say
from resources.instants import instant
from resources.names import wire_of

EXPECT = "rmctl/expect"
POLL_SECONDS = 0.1
PAGE_SECONDS = 86400
SETTLE_SECONDS = 20.0
LIMIT_SECONDS = 120.0
"""How long an example may take to reach what its file expects."""


class Expectation(NamedTuple):
    """`CONDITION[=STATUS][/REASON]`."""

    type: str
    status: str = "True"
    reason: str = ""

    def met(self, item: dict[str, Any]) -> bool:
        generation = item["metadata"]["generation"]
        found = _condition(item, self.type)
        current = found.get("observedGeneration") == generation and found.get("status") == self.status
        return current and self.reason in ("", found["reason"])

    def __str__(self) -> str:
        return f"{self.type}={self.status}" + (f"/{self.reason}" if self.reason else "")


def _condition(item: dict[str, Any], type_: str) -> dict[str, Any]:
    """Empty when there is none of that type."""
    conditions: list[dict[str, Any]] = item["status"].get("conditions", [])
    return next((c for c in conditions if c["type"] == type_), {})


def expectation(text: str) -> Expectation:
    head, _, reason = text.partition("/")
    type_, _, status = head.partition("=")
    return Expectation(type_, status or "True", reason)


def run(*, once: bool = False, data: Path | None = None) -> int:
    """0 when every example got where its file expects it, or Ctrl-C ended the demo; 1 when one did not."""
    folder = (data or Path(".demo")).absolute()
    parse_address(f"unix:{folder}/rmctl.sock")
    ground = take(folder)
    listen = f"127.0.0.1:{free_port()}"
    processes = Processes(folder, listen, out)
    session = Session(Flags(server=f"unix:{folder}/rmctl.sock"))
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        forge = find_spec("gidgethub") is not None
        if forge:
            processes.start_forge()
        processes.start_server()
        late = _play(session, processes)
        if forge:
            manifests = load([str(EXAMPLES / "pull-request")])
            send(session, manifests, dry_run=False)
            late += _reach(session, manifests)
        if once:
            _settle(session)
            _get_resources(session)
            return 1 if late else 0
        _say_what_to_try(session, listen, forge=forge)
        _follow(session)
    except KeyboardInterrupt:
        say("stopping everything that this started")
        return 0
    finally:
        processes.stop()
        ground.close()
    return 0


def _play(session: Session, processes: Processes) -> list[str]:
    """Apply the examples in the order of their names; returns what is not as expected."""
    late = []
    for path in sorted(EXAMPLES.glob("*.yaml")):
        manifests = load([str(path)])
        send(session, manifests, dry_run=False)
        if path.name.startswith("00-"):
            for plan in NODES:
                token = session.client.send("POST", paths.TOKENS, {"node": plan.name, "pool": "local"})["token"]
                processes.start_agent(plan, token)
            session.client.send("DELETE", paths.item(Target(session.kind("pool"), "default"), session.project))
            out("")
        late += _reach(session, manifests)
    return late


def _reach(session: Session, manifests: Sequence[Manifest]) -> list[str]:
    late = []
    for manifest in manifests:
        wanted = manifest.metadata.get("annotations", {}).get(EXPECT)
        if wanted is None:
            continue
        item = _wait(session, manifest, expectation(wanted))
        if manifest.kind == "bundle":
            out(_line(session, item))
        elif manifest.kind == "reservation":
            out(f"{manifest.name:<11}booked  {_condition(item, 'Ready').get('message', '')}")
        elif manifest.kind == "pull-request":
            out(f"{manifest.name}  {_condition(item, 'Ready').get('message', '')}")
        if not expectation(wanted).met(item):
            late.append(manifest.name)
            say(f"{manifest.kind}/{manifest.name} is not {expectation(wanted)}")
    return late


def _wait(session: Session, manifest: Manifest, wanted: Expectation) -> dict[str, Any]:
    end = time.monotonic() + LIMIT_SECONDS
    path = paths.item(Target(session.kind(manifest.kind), wire_of(manifest.name)), session.project)
    while True:
        item = _fetch(session, path)
        if item is not None and (wanted.met(item) or time.monotonic() > end):
            return item
        time.sleep(POLL_SECONDS)


def _fetch(session: Session, path: str) -> dict[str, Any] | None:
    """None while the server is being started again."""
    try:
        return session.client.get(path)
    except Unreachable:
        session.client.close()
        return None


def _line(session: Session, item: dict[str, Any]) -> str:
    """How one example stands, in a line."""
    name = item["metadata"]["name"]
    jobs = [job for job in _jobs(session) if job["metadata"]["labels"].get("rmctl/bundle") == name]
    ready = _condition(item, "Ready")
    if ready.get("reason") == "Dormant":
        return f"{name:<11}dormant until you start it"
    if ready.get("status") != "True":
        told = (c["message"] for job in jobs for c in job["status"]["conditions"] if c["type"] == "Unschedulable")
        return f"{name:<11}waits   {next(told, ready.get('message', ''))}"
    served = [line for job in jobs if (line := _served(job))]
    both = len(served) > 1
    shown = [f"{address} ({role})" if both else address for address, role in served]
    crashes = sum(job["status"].get("restarts", {}).get("failed", 0) for job in jobs)
    devices = sum(len(job["status"].get("devices", ())) for job in jobs)
    tail = "  ".join(shown) or (f"after {crashes} crashes" if crashes else f"with {devices} devices" if devices else "")
    return f"{name:<11}runs    {tail}".rstrip()


def _served(job: dict[str, Any]) -> tuple[str, str] | None:
    status = job["status"]
    ports = [port.partition("/")[0] for port in status.get("ports", ()) if port.endswith("/tcp")]
    if not ports or not status.get("address"):
        return None
    return f"http://{status['address']}:{ports[0]}/", job["spec"]["role"]


def _jobs(session: Session) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = session.client.get(paths.collection(session.kind("job"), session.project))["items"]
    return sorted(found, key=lambda job: (job["spec"]["index"], job["spec"]["jobName"]))


def _settle(session: Session) -> None:
    """Until nothing is due: what is printed next is what the last change led to. Not for ever.

    A pool counts what is in it now and then only, so it is asked to.
    """
    session.client.send("POST", f"{paths.item(Target(session.kind('pool'), 'local'), session.project)}/reconcile", {})
    end = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < end:
        rows = session.client.get(paths.QUEUE).get("items", [])
        if not any(row["claimed"] or instant(row["dueAt"]) <= time.time() for row in rows):
            return
        time.sleep(POLL_SECONDS)


def _get_resources(session: Session) -> None:
    from cli.running import call

    out("")
    call("get", ["resources"], session)


def _say_what_to_try(session: Session, listen: str, *, forge: bool) -> None:
    out("")
    token = session.client.send("POST", paths.PAGES, {"ttlSeconds": PAGE_SECONDS})["token"]
    out(f"page    http://{listen}/ui?token={token}   (once; again with rmctl open)")
    out('try     alias rmctl="$PWD/dev rmctl"')
    out("        rmctl why job/ultra-hd/primary/encode")
    out("        kill -9 $(rmctl get job/hello/primary/web -o jsonpath={.status.pid})")
    out("        kill -9 $(rmctl server status -o jsonpath={.pid})")
    if forge:
        out("        rmctl describe pr acme/site#12")
    out("Following events. Ctrl-C stops everything this started.")


def _follow(session: Session) -> None:
    """Events as they come, over restarts of the server, until Ctrl-C."""
    from cli.running import call

    while True:
        try:
            call("events", ["-w"], session)
        except CliError as error:
            say(str(error))
        time.sleep(POLL_SECONDS)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
