"""One line about a resource in wire form, in the words of `rmctl get` and `rmctl describe`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from api.http.durations import span
from resources import deletion
from resources.canonical import Document
from resources.exits import signal_name
from resources.instants import instant
from resources.names import job_key, shown

PREDICATES = frozenset(
    "is has runs waits starts stops ends keeps recovers takes moves must may cannot was does joins goes".split()
)
"""What a clause begins with that needs a subject before it."""
WAITS = "waits for a place: "
Tiers = Mapping[str, str]
"""Pool to its fixed tier, whose registered nodes need not say so."""
NO_TIERS: Tiers = {}


class Line(NamedTuple):
    """The columns beside the name and the age."""

    ready: str
    reason: str
    where: str
    detail: str


class Ready(NamedTuple):
    """The Ready condition as people are told it: Unknown while the status is behind the spec."""

    status: str = "Unknown"
    reason: str = "-"
    message: str = ""


def line(document: Document, *, now: float = 0.0, tiers: Tiers = NO_TIERS) -> Line:
    """`now` in unix seconds, for what is about to happen."""
    state = ready(document)
    where, detail = GLANCES.get(document.get("kind", ""), _plain)(document, state, now, tiers)
    return Line(state.status, state.reason, where or "-", _going(document, state, now) or detail)


def sentence(document: Document, *, now: float) -> str:
    """The name and what its Ready condition says: it stands alone."""
    state = ready(document)
    metadata = document["metadata"]
    name = shown(str(document.get("kind", "")), str(metadata.get("key") or metadata.get("name", "")))
    since = document["metadata"].get("deletionTimestamp")
    if since is not None:
        return f"{name} {deletion.clause(str(since), state.message, _finalizers(document))}"
    clause = _told(state)
    since = moment(_status(document).get("readyAt"))
    if document.get("kind") == "job" and state.reason == "Running" and since is not None:
        clause = f"{state.message.rstrip('.') or 'runs'}, ready for {span(now - since)}."
    first = clause.partition(" ")[0]
    return f"{name} {clause}" if first in PREDICATES else f"{name}: {clause}"


def ready(document: Document) -> Ready:
    found = condition(document, "Ready")
    metadata = document.get("metadata") or {}
    reason, message = str(found.get("reason") or "-"), str(found.get("message") or "")
    if metadata.get("deletionTimestamp") is not None:
        return Ready("False", "Deleting", message if reason in deletion.CAUSES else "")
    if not found or _status(document).get("observedGeneration", 0) < metadata.get("generation", 0):
        return Ready()
    return Ready(str(found.get("status", "Unknown")), reason, message)


def condition(document: Document, type_: str) -> Mapping[str, Any]:
    """Empty when it is absent."""
    conditions = (document.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == type_), {})


def fixed_tiers(pools: Iterable[Document]) -> Tiers:
    """Of pools in wire form."""
    found = {}
    for pool in pools:
        tiers = (pool.get("spec") or {}).get("tiers") or ()
        name = next((str(tier.get("name")) for tier in tiers if tier.get("scaleOut") == "fixed"), "")
        if name:
            found[str(pool["metadata"]["name"])] = name
    return found


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def people(name: str) -> str:
    """A job as people call it; other names as they are."""
    key = job_key(name)
    return key.people if key else name


def moment(text: object) -> float | None:
    """Unix seconds of an instant on the wire; None for what is none."""
    try:
        return instant(text)
    except ValueError:
        return None


def _going(document: Document, state: Ready, now: float) -> str:
    """What its controller says of a deletion, for how long, and the first finalizer; empty for what stays."""
    since = moment((document.get("metadata") or {}).get("deletionTimestamp"))
    if since is None:
        return ""
    kept = "".join(f", kept by {name}" for name in _finalizers(document)[:1])
    return f"{state.message or 'is being deleted'}; for {span(now - since)}{kept}"


def _finalizers(document: Document) -> list[str]:
    return [str(name) for name in document["metadata"].get("finalizers") or ()]


def _told(state: Ready) -> str:
    """The Ready message as a clause of its own; one that ends with a list of reasons gets no full stop."""
    if state.reason == "-":
        return "has not been looked at since it was last changed."
    if state.message:
        return state.message if state.message[-1] in ".!?" or ": " in state.message else f"{state.message}."
    return f"is {'ready' if state.status == 'True' else 'not ready'} ({state.reason})."


def _plain(_document: Document, state: Ready, _now: float, _tiers: Tiers) -> tuple[str, str]:
    return "", state.message


def _node(node: Document, state: Ready, _now: float, tiers: Tiers) -> tuple[str, str]:
    """Its Ready message counts what is claimed; what keeps new jobs away stands behind it."""
    spec, status = node.get("spec") or {}, _status(node)
    pool = str(spec.get("pool") or "")
    tier = spec.get("tier") or tiers.get(pool) or pool
    where = ", ".join(str(part) for part in (tier, status.get("zone") or spec.get("zone")) if part)
    parts = (state.message.removeprefix("is connected, "), *map(_stop(spec), status.get("noSchedule") or ()))
    return where, ", ".join(part for part in parts if part)


def _stop(spec: Document) -> Callable[[Document], str]:
    def told(block: Document) -> str:
        reason = str(block.get("reason", "")).lower()
        by = spec.get("cordonReason") if block.get("by") == "spec" else block.get("by")
        return f"{reason} ({by})" if by else reason

    return told


def _bundle(bundle: Document, state: Ready, _now: float, _tiers: Tiers) -> tuple[str, str]:
    return str((bundle.get("spec") or {}).get("pool") or ""), state.message.removeprefix("is dormant: ")


def _reservation(reservation: Document, state: Ready, _now: float, _tiers: Tiers) -> tuple[str, str]:
    nodes = dict.fromkeys(str(held.get("node")) for held in _status(reservation).get("allocations") or ())
    return ", ".join(nodes), state.message


def _job(job: Document, state: Ready, now: float, _tiers: Tiers) -> tuple[str, str]:
    return str(_status(job).get("node") or ""), _of_job(job, state, now)


def _of_job(job: Document, state: Ready, now: float) -> str:
    spec, status = job.get("spec") or {}, _status(job)
    last = status.get("lastExit") or {}
    match state.reason:
        case "Running" if status.get("pid"):
            used = [f"attempt {status['attempt']}", *_used(status)] if status.get("attempt", 0) > 1 else []
            return ", ".join([f"pid {status['pid']}", *map(str, status.get("ports") or ()), *used])
        case "Dormant":
            return "startMode manual" if spec.get("startMode") == "manual" else "stopped"
        case "NoFit" | "Provisioning":
            found = condition(job, "Unschedulable")
            unfit = str(found.get("message", "")).removeprefix(WAITS) if found.get("status") == "True" else ""
            return unfit or state.message
        case "CrashLooping" | "Recovering":
            return "; ".join(part for part in (_how(last), _next_start(status, now), *_used(status)) if part)
        case "Completed":
            return f"exit {last.get('code', 0)}" if last else "completed"
        case _:
            return state.message


def _used(status: Document) -> list[str]:
    restarts = status.get("restarts") or {}
    used, ceiling = restarts.get("lastHour") or 0, restarts.get("ceiling")
    return [f"{used} of {ceiling} restarts"] if used and ceiling is not None else []


def _next_start(status: Document, now: float) -> str:
    at = moment(status.get("nextStartAt"))
    if at is None:
        return ""
    return f"next start in {span(at - now)}" if at > now else "the next start is due"


def _how(last: Document) -> str:
    if last.get("signal") is not None:
        return signal_name(last["signal"])
    return f"exit {last['code']}" if last.get("code") is not None else str(last.get("reason") or "")


def _status(document: Document) -> Document:
    found = document.get("status")
    return found if isinstance(found, dict) else {}


GLANCES: Mapping[str, Callable[[Document, Ready, float, Tiers], tuple[str, str]]] = {
    "node": _node,
    "bundle": _bundle,
    "job": _job,
    "reservation": _reservation,
}
