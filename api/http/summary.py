"""One line about a resource in wire form: is it ready, why, where, and what else a glance should tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from resources.canonical import Document
from resources.names import job_key


class Line(NamedTuple):
    """The columns beside the name and the age."""

    ready: str
    reason: str
    where: str
    detail: str


def line(document: Document) -> Line:
    ready = condition(document, "Ready")
    status = document.get("status") or {}
    where, detail = GLANCES.get(document.get("kind", ""), _plain)(document.get("spec") or {}, status, ready)
    return Line(truth(document, ready), str(ready.get("reason") or "-"), where or "-", detail or "-")


def condition(document: Document, type_: str) -> Mapping[str, Any]:
    """Empty when it is absent."""
    conditions = (document.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == type_), {})


def truth(document: Document, ready: Mapping[str, Any]) -> str:
    """A condition of an older generation says nothing about this one."""
    generation = document.get("metadata", {}).get("generation", 0)
    seen = ready.get("observedGeneration", 0)
    return str(ready.get("status", "Unknown")) if ready and seen >= generation else "Unknown"


def plain(number: object) -> str:
    """`4.0` as `4`."""
    return f"{number:g}" if isinstance(number, int | float) else str(number)


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def people(name: str) -> str:
    """A job as people call it; other names as they are."""
    key = job_key(name)
    return key.people if key else name


def _plain(_spec: Document, _status: Document, ready: Mapping[str, Any]) -> tuple[str, str]:
    return "", str(ready.get("message") or "")


def _pool(_spec: Document, status: Document, _ready: Mapping[str, Any]) -> tuple[str, str]:
    claimed, total = plain(status.get("claimedCapacity", 0)), plain(status.get("totalCapacity", 0))
    parts = [counted(status.get("nodeCount", 0), "node", "nodes"), f"{claimed} of {total} vcpu claimed"]
    waiting = status.get("waitingJobs", 0)
    if waiting:
        parts.append(counted(waiting, "job waits", "jobs wait"))
    return "", ", ".join(parts)


def _node(spec: Document, status: Document, _ready: Mapping[str, Any]) -> tuple[str, str]:
    where = ", ".join(str(part) for part in (spec.get("tier"), status.get("zone") or spec.get("zone")) if part)
    vcpu = (status.get("capacity") or {}).get("vcpu")
    parts = [f"{plain(vcpu['reserved'])} of {plain(vcpu['cap'])} vcpu claimed"] if vcpu else []
    jobs = len(status.get("jobs") or ())
    if jobs:
        parts.append(counted(jobs, "job", "jobs"))
    if spec.get("cordoned"):
        reason = spec.get("cordonReason")
        parts.append(f"cordoned ({reason})" if reason else "cordoned")
    return where, ", ".join(parts)


def _bundle(spec: Document, status: Document, ready: Mapping[str, Any]) -> tuple[str, str]:
    counts = status.get("jobs") or {}
    total, running = counts.get("total", 0), counts.get("running", 0)
    if ready.get("reason") == "Broken" or not total:
        return str(spec.get("pool") or ""), str(ready.get("message") or "")
    parts = [f"{running} of {counted(total, 'job runs', 'jobs run')}"]
    for name, one, many in (
        ("waiting", "waits", "wait"),
        ("moving", "moving", "moving"),
        ("dormant", "dormant", "dormant"),
        ("completed", "completed", "completed"),
        ("dropped", "dropped", "dropped"),
    ):
        if counts.get(name):
            parts.append(counted(counts[name], one, many))
    return str(spec.get("pool") or ""), ", ".join(parts)


def _job(spec: Document, status: Document, ready: Mapping[str, Any]) -> tuple[str, str]:
    where = str(status.get("node") or "")
    if status.get("phase") == "dormant" and spec.get("startMode") == "manual":
        return where, "startMode manual"
    if ready.get("status") != "True":
        unschedulable = next(
            (c for c in status.get("conditions") or () if c["type"] == "Unschedulable" and c["status"] == "True"), None
        )
        return where, str((unschedulable or ready).get("message") or "")
    parts = [f"pid {status['pid']}"] if status.get("pid") else []
    parts += status.get("ports") or ()
    restarts = status.get("restarts") or {}
    if restarts.get("lastHour"):
        parts += [f"attempt {status.get('attempt')}", f"{restarts['lastHour']} of {restarts.get('ceiling')} restarts"]
    return where, ", ".join(parts) or str(ready.get("message") or "")


def _template(spec: Document, _status: Document, _ready: Mapping[str, Any]) -> tuple[str, str]:
    return "", ", ".join(spec.get("images") or ())


GLANCES: Mapping[str, Callable[[Document, Document, Mapping[str, Any]], tuple[str, str]]] = {
    "pool": _pool,
    "node": _node,
    "bundle": _bundle,
    "job": _job,
    "template": _template,
}
