"""A bundle: how many of its jobs run, and what keeps the others."""

from __future__ import annotations

from collections.abc import Sequence

from cli.views import job as jobs
from cli.views.wire import (
    Document,
    Fact,
    Row,
    World,
    count,
    metadata,
    name,
    namespace,
    ready,
    spec,
    status,
    title,
    whole,
)


def row(bundle: Document, world: World) -> Row:
    return Row(str(spec(bundle).get("pool") or "-"), _detail(bundle, world))


def _detail(bundle: Document, world: World) -> str:
    state, own = ready(bundle), world.of_bundle(name(bundle), namespace(bundle))
    if state.reason == "Dormant":
        dormant = next((job for job in own if ready(job).reason == "Dormant"), None)
        return f"rmctl start {title(dormant).removeprefix('job/')}" if dormant else "dormant"
    if state.reason in ("Deleting", "Broken", "Paused") and state.message:
        return state.message
    extras = [text for text in (_zones(bundle, own), _restarts(own, world)) if text]
    return "; ".join([_tally(bundle), *extras])


def _tally(bundle: Document) -> str:
    counts = status(bundle).get("jobs") or {}
    total, running = whole(counts.get("total")), whole(counts.get("running"))
    active = total - whole(counts.get("dormant"))
    parts = [f"{running} of {active} {'job runs' if active == 1 else 'jobs run'}"]
    words = (("waiting", "waits", "wait"), ("moving", "moving", "moving"), ("dropped", "dropped", "dropped"))
    for field, one, many in (*words, ("completed", "completed", "completed"), ("dormant", "dormant", "dormant")):
        amount = whole(counts.get(field))
        if amount:
            parts.append(f"{amount} {one if amount == 1 else many}")
    return ", ".join(parts)


def _zones(bundle: Document, own: Sequence[Document]) -> str:
    """Of both copies, when there are two and each is in one zone."""
    if whole(status(bundle).get("replicaCount")) < 2:
        return ""
    found = []
    for role in ("primary", "backup"):
        zones = {status(job).get("zone") for job in own if spec(job).get("role") == role and status(job).get("node")}
        zones.discard(None)
        if len(zones) == 1:
            found.append(f"{role} {zones.pop()}")
    return ", ".join(found)


def _restarts(own: Sequence[Document], world: World) -> str:
    used = [status(job).get("restarts") or {} for job in own]
    failing = [job for job in own if ready(job).reason in ("CrashLooping", "Recovering")]
    for job in failing:
        restarts = status(job).get("restarts") or {}
        if isinstance(restarts.get("ceiling"), int) and whole(restarts.get("lastHour")) + 1 == restarts["ceiling"]:
            return "one more exit breaks it"
    if failing:
        return jobs.next_start(failing[0], world)
    total = sum(whole(restarts.get("lastHour")) for restarts in used)
    return f"{count(total, 'restart')} in the last hour" if total else ""


def sentence(bundle: Document, world: World) -> str:
    """The predicate of line one, without the name."""
    state = ready(bundle)
    message = state.message.rstrip(".")
    match state.reason:
        case "-":
            return "has not been looked at since it was last changed."
        case "AllRunning":
            return f"runs: {_tally(bundle)}."
        case "Dormant":
            return "is dormant until you start it."
        case "Completed":
            return "is completed."
        case "Deleting":
            return f"is being deleted{': ' + message if message else ''}."
        case "Broken":
            return f"is broken{': ' + message if message else ''}."
        case _:
            blocked = next((job for job in _own(bundle, world) if ready(job).status == "False"), None)
            cause = f"{title(blocked)} {jobs.sentence(blocked, world)}" if blocked else message
            return f"is not ready, {_tally(bundle)}{': ' + cause if cause else ''}".rstrip(".") + "."


def _own(bundle: Document, world: World) -> list[Document]:
    return world.of_bundle(name(bundle), namespace(bundle))


def facts(bundle: Document, world: World) -> list[Fact]:
    found, asked = status(bundle), spec(bundle)
    generation, observed = metadata(bundle).get("generation", 0), found.get("observedGeneration", 0)
    policy = asked.get("resiliencePolicy")
    copies = "primary and backup" if policy is not None else "primary only"
    rows = [
        Fact("Generation", f"{generation}, observed {observed}"),
        Fact("State", str(found.get("state", "-"))),
        Fact("Pool", str(asked.get("pool", "-"))),
        Fact("Copies", copies),
    ]
    if isinstance(policy, dict):
        kept = [f"{flag} {policy[flag]}" for flag in ("sameNode", "sameAz", "sameCloud") if flag in policy]
        rows += [Fact("Backup", ", ".join([*([f"pool {policy['pool']}"] if policy.get("pool") else []), *kept]) or "-")]
        rows += [Fact("", "")]
    return rows
