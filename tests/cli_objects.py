"""Wire objects as a server shows them: the fleet of the examples, a minute after it was made."""

from __future__ import annotations

from typing import Any

from cli.kinds import KINDS
from resources.instants import rfc3339
from resources.names import job_key
from tests.fake_api import Answer

NOW = 1_770_000_000.0
Object = dict[str, Any]


def ago(seconds: float) -> str:
    return rfc3339(NOW - seconds)


def a_condition(
    type_: str, status: str, reason: str, message: str = "", *, since: float = 30, generation: int = 1
) -> Object:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": ago(since),
    }


def an_object(
    kind: str,
    name: str,
    ready: tuple[str, ...],
    *,
    age: float = 40,
    spec: Object | None = None,
    conditions: tuple[Object, ...] = (),
    generation: int = 1,
    observed: int | None = None,
    metadata: Object | None = None,
    **fields: Any,
) -> Object:
    """`ready` is status, reason and message of the Ready condition."""
    seen = generation if observed is None else observed
    status, reason, *message = ready
    first = a_condition("Ready", status, reason, *message, generation=seen)
    about: Object = {"name": name, "uid": f"uid-{name}", "resourceVersion": "5", "generation": generation}
    if kind in ("bundle", "job", "template", "reservation"):
        about["namespace"] = "default"
    about["creationTimestamp"] = ago(age)
    return {
        "apiVersion": "rmctl/v1",
        "kind": kind,
        "metadata": {**about, **(metadata or {})},
        "spec": spec or {},
        "status": {"observedGeneration": seen, "conditions": [first, *conditions], **fields},
    }


def a_job(name: str, ready: tuple[str, ...], *, spec: Object | None = None, **fields: Any) -> Object:
    """`name` as people write it."""
    key = job_key(name)
    assert key is not None
    requirements = {"requiredCapacity": 0.5, "onRuntimeFailure": "avoidSpare"}
    asked = {"bundle": key.bundle, "role": key.role, "jobName": key.job, "pool": "local", "requirements": requirements}
    owner = {"kind": "bundle", "name": key.bundle, "uid": f"uid-{key.bundle}", "controller": True}
    metadata = {"ownerReferences": [owner]}
    return an_object("job", key.wire, ready, spec={**asked, **(spec or {})}, metadata=metadata, **fields)


def a_running_job(name: str, node: str, pid: int, *ports: str, **fields: Any) -> Object:
    zone = f"zone-{node[-1]}"
    return a_job(
        name,
        ("True", "Running", f"runs on {node}"),
        node=node,
        tier="local",
        zone=zone,
        pid=pid,
        ports=list(ports),
        phase="running",
        **{"attempt": 1, "instanceKey": "primary", "startedAt": ago(35), "readyAt": ago(34), "age": 36, **fields},
    )


NO_FIT = "no node fits (3 nodes): 2 × labels: rmctl/cap.nvenc; 1 × fits: 2.5 of 6 vcpu free"


def a_waiting_job(name: str) -> Object:
    return a_job(
        name,
        ("False", "NoFit", f"waits for a place: {NO_FIT}"),
        spec={
            "requirements": {
                "requiredCapacity": 6,
                "requiredCapabilities": ["nvenc"],
                "onRuntimeFailure": "preferSpare",
            }
        },
        conditions=(a_condition("Unschedulable", "True", "NoFit", NO_FIT),),
        phase="pending",
        waitingSince=ago(16),
        plans=3,
        age=16,
    )


CRASHING = (
    "keeps crashing: exit 1 after 2.5 s, next start at 02:40:36Z."
    " 5 of 6 restarts used: one more exit breaks bundle/weather."
)


def a_crashing_job(name: str = "weather/primary/encode", **fields: Any) -> Object:
    return a_job(
        name,
        ("False", "CrashLooping", CRASHING),
        conditions=(
            a_condition("CrashLooping", "True", "RepeatedExit", "5 exits, all code 1"),
            a_condition("Unschedulable", "False", "Placed", "node-a, room held until the start"),
        ),
        **{
            "phase": "backoff",
            "node": "node-a",
            "attempt": 6,
            "nextStartAt": ago(-36),
            "lastExit": {"at": ago(24), "code": 1, "ranSeconds": 2.5, "node": "node-a", "attempt": 6},
            "restarts": {"lastHour": 5, "ceiling": 6, "failed": 9, "moved": 1},
            **fields,
        },
    )


def a_node(name: str, reserved: float, jobs: int, **fields: Any) -> Object:
    vcpu = {"total": 4, "cap": 4, "reserved": reserved, "free": 4 - reserved}
    spec = {"pool": "local", **fields.pop("spec", {})}
    given = {"phase": "running", "zone": f"zone-{name[-1]}", "capacity": {"vcpu": vcpu}}
    told = f"is connected, {reserved:g} of 4 vcpu claimed, {jobs} job{'s' * (jobs != 1)}"
    return an_object("node", name, fields.pop("ready", ("True", "Connected", told)), spec=spec, **{**given, **fields})


def a_bundle(name: str, ready: tuple[str, str, str], *, copies: int = 1, **status: Any) -> Object:
    policy = {"resiliencePolicy": {"sameNode": "forbid"}} if copies == 2 else {}
    fields = {"age": 36, "state": "live", "replicaCount": copies, **status}
    return an_object("bundle", name, ready, spec={"pool": "local", **policy}, **fields)


def a_pool() -> Object:
    tier = {"name": "local", "kind": "local-servers", "scaleOut": "fixed", "packingStrategy": "spread"}
    tiers = [{"name": "local", "nodes": 3, "freeCapacity": 8.0}]
    ready = ("True", "HasCapacity", "3 nodes, 4 of 12 vcpu claimed, 1 job waits")
    return an_object("pool", "local", ready, age=41, spec={"tiers": [tier]}, nodeCount=3, tiers=tiers)


def the_demo() -> dict[str, list[Object]]:
    """Lists by plural."""
    restarted = {"attempt": 3, "restarts": {"lastHour": 2, "ceiling": 6, "failed": 2}}
    manual = {"startMode": "manual"}
    told = "is dormant until it is started: rmctl start standby/primary/report"
    dormant = a_job("standby/primary/report", ("True", "Dormant", told), spec=manual, age=15, phase="dormant")
    return {
        "pools": [a_pool()],
        "nodes": [a_node("node-b", 1.5, 2), a_node("node-a", 1, 2), a_node("node-c", 1.5, 2)],
        "bundles": [
            a_bundle("channel", ("True", "AllRunning", "4 of 4 jobs run; primary zone-b, backup zone-c"), copies=2),
            a_bundle("flaky", ("True", "AllRunning", "1 of 1 job runs; 2 restarts in the last hour"), age=33),
            a_bundle("hello", ("True", "AllRunning", "1 of 1 job runs"), age=38),
            a_bundle("standby", ("True", "Dormant", "is dormant: rmctl start standby/primary/report"), age=15),
            a_bundle("ultra-hd", ("False", "NoFit", "0 of 1 job runs, 1 waits"), age=16),
        ],
        "jobs": [
            a_running_job("channel/backup/encode", "node-c", 4188),
            a_running_job("channel/backup/origin", "node-c", 4190, "8201/tcp"),
            a_running_job("channel/primary/encode", "node-b", 4181),
            a_running_job("channel/primary/origin", "node-b", 4183, "8201/tcp"),
            a_running_job("flaky/primary/worker", "node-a", 4231, **restarted),
            a_running_job("hello/primary/web", "node-a", 4170, "8101/tcp"),
            dormant,
            a_waiting_job("ultra-hd/primary/encode"),
        ],
        "templates": [],
        "reservations": [],
        "schedules": [],
        "webhooks": [],
    }


def all_kinds(*others: dict[str, Any]) -> Answer:
    """What a server of this version says that it serves, and `others`."""
    own = [
        {"name": kind.plural, "singularName": kind.name, "shortNames": list(kind.short), "namespaced": kind.namespaced}
        for kind in KINDS
    ]
    return Answer({"resources": [*own, *others]})
