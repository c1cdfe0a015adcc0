"""A job: where it runs, how often it was started, or what it waits for."""

from __future__ import annotations

from cli.durations import span
from cli.views.wire import (
    Document,
    Fact,
    Row,
    World,
    condition,
    metadata,
    moment,
    number,
    ready,
    spec,
    status,
    told,
    whole,
)
from resources.exits import signal_name
from resources.instants import rfc3339

WAITS = "waits for a place: "


def row(job: Document, world: World) -> Row:
    found = status(job)
    return Row(str(found.get("node") or "-"), _detail(job, world))


def _detail(job: Document, world: World) -> str:
    state, found = ready(job), status(job)
    match state.reason:
        case "Running" if found.get("pid"):
            return ", ".join([f"pid {found['pid']}", *map(str, found.get("ports") or ()), *_attempts(job)])
        case "Dormant":
            return f"startMode {spec(job).get('startMode', 'auto')}" if _manual(job) else "stopped"
        case "NoFit" | "Provisioning":
            return unfit(job) or state.message
        case "CrashLooping" | "Recovering":
            parts = [_exit(job), next_start(job, world), _used(job)]
            return "; ".join(part for part in parts if part)
        case "Completed":
            return f"exit {_last(job).get('code', 0)}" if _last(job) else "completed"
        case _:
            return state.message


def sentence(job: Document, world: World) -> str:
    """What the Ready condition says, and of one that runs for how long it has been ready."""
    state = ready(job)
    since = world.since(status(job).get("readyAt"))
    if state.reason == "Running" and since is not None:
        return f"{state.message.rstrip('.') or 'runs'}, ready for {span(since)}."
    return told(state)


def unfit(job: Document) -> str:
    """Why no node takes it, empty when one does."""
    found = condition(job, "Unschedulable")
    return str(found.get("message", "")).removeprefix(WAITS) if found.get("status") == "True" else ""


def next_start(job: Document, world: World) -> str:
    at = moment(status(job).get("nextStartAt"))
    if at is None:
        return ""
    return f"next start in {span(at - world.now)}" if at > world.now else "the next start is due"


def facts(job: Document, world: World) -> list[Fact]:
    found, asked = status(job), spec(job)
    generation, observed = metadata(job).get("generation", 0), found.get("observedGeneration", 0)
    rows = [
        Fact("Bundle", f"{asked.get('bundle', '-')}, generation {generation}, observed {observed}"),
        Fact("Role", str(asked.get("role", "-"))),
    ]
    if found.get("node"):
        place = " / ".join(str(part) for part in (asked.get("pool"), found.get("tier"), found.get("zone")) if part)
        address = f" ({found['address']})" if found.get("address") else ""
        rows += [Fact("Place", place), Fact("Node", f"{found['node']}{address}")]
    if found.get("devices"):
        rows.append(Fact("Devices", ", ".join(map(str, found["devices"]))))
    if found.get("pid"):
        key = found.get("instanceKey", asked.get("role", "-"))
        rows.append(Fact("Instance", f"{key}, attempt {found.get('attempt', 1)}, pid {found['pid']}"))
        rows.append(Fact("Started", clock(found.get("startedAt"))))
    elif found.get("nextStartAt") and found.get("attempt"):
        rows.append(Fact("Instance", f"none; the last was attempt {found['attempt']}"))
        rows.append(Fact("Starts", f"{clock(found['nextStartAt'])}, attempt {found['attempt'] + 1}"))
    needs = asked.get("requirements") or {}
    essential = "essential" if needs.get("essential", True) else "not essential"
    rows += [Fact("Asks", asks(job)), Fact("On failure", f"{needs.get('onRuntimeFailure', '-')}, {essential}")]
    rows += _history(job, world)
    return rows


def _history(job: Document, world: World) -> list[Fact]:
    found = status(job)
    restarts = found.get("restarts") or {}
    rows = []
    waiting = world.since(found.get("waitingSince"))
    if waiting is not None and not found.get("node"):
        rows += [Fact("Waiting", f"{span(waiting)}, {whole(found.get('plans'))} plans"), Fact("", "")]
    ceiling = restarts.get("ceiling")
    if found.get("attempt") or restarts.get("lastHour"):
        limit = f" of {ceiling}" if ceiling is not None else ""
        used = f"{whole(restarts.get('lastHour'))}{limit} in the last hour"
        counts = [f"{whole(restarts.get(word))} {word}" for word in ("failed", "lost", "reclaimed", "moved")]
        rows += [Fact("Restarts", used), Fact("In all", ", ".join(counts))]
    last = _last(job)
    if last:
        how = _how(last)
        parts = [
            clock(last.get("at")),
            how,
            f"ran {span(float(last.get('ranSeconds') or 0))}",
            str(last.get("node") or ""),
        ]
        rows.append(Fact("Last exit", ", ".join(part for part in parts if part)))
    return rows


def asks(job: Document) -> str:
    """What it asks of a node, by the ids of resources."""
    needs = spec(job).get("requirements") or {}
    parts = [f"{number(needs.get('requiredCapacity', 0))} vcpu"]
    if needs.get("requiredCores"):
        parts.append(f"{needs['requiredCores']} cores")
    if needs.get("requiredMemoryMiB"):
        parts.append(f"{needs['requiredMemoryMiB']} MiB memory")
    if needs.get("requiredGpuCapacity"):
        parts.append(f"{number(needs['requiredGpuCapacity'])} gpu")
    return ", ".join([*parts, *needs.get("requiredHostPorts", ()), *needs.get("requiredCapabilities", ())])


def clock(text: object) -> str:
    """The time of day with Z, of an instant on the wire."""
    at = moment(text)
    return "" if at is None else rfc3339(float(int(at)))[11:]


def _attempts(job: Document) -> list[str]:
    found = status(job)
    if whole(found.get("attempt")) < 2:
        return []
    used = _used(job)
    return [f"attempt {found['attempt']}", *([used] if used else [])]


def _used(job: Document) -> str:
    restarts = status(job).get("restarts") or {}
    ceiling = restarts.get("ceiling")
    used = whole(restarts.get("lastHour"))
    return f"{used} of {ceiling} restarts" if ceiling is not None and used else ""


def _last(job: Document) -> Document:
    found = status(job).get("lastExit")
    return found if isinstance(found, dict) else {}


def _how(last: Document) -> str:
    if last.get("signal") is not None:
        return signal_name(last["signal"])
    if last.get("code") is not None:
        return f"code {last['code']}"
    return str(last.get("reason") or "")


def _exit(job: Document) -> str:
    return _how(_last(job)).replace("code ", "exit ")


def _manual(job: Document) -> bool:
    return spec(job).get("startMode") == "manual"
