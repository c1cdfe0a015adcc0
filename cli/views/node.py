"""A node: how much of it is claimed, and why nothing more is placed on it."""

from __future__ import annotations

from cli.durations import span
from cli.views.wire import Document, Fact, Row, World, condition, count, metadata, number, ready, spec, status


def row(node: Document, world: World) -> Row:
    found, asked = status(node), spec(node)
    parts = [str(part) for part in (_tier(node, world), found.get("zone") or asked.get("zone")) if part]
    return Row(", ".join(parts) or "-", _detail(node, world))


def _tier(node: Document, world: World) -> object:
    """Registered nodes belong to their pool's fixed tier, which need not be written down."""
    pool = spec(node).get("pool")
    return spec(node).get("tier") or world.fixed_tier(str(pool)) or pool


def _detail(node: Document, world: World) -> str:
    parts = [claimed(node)] if claimed(node) else []
    jobs = status(node).get("jobs") or ()
    if jobs:
        parts.append(count(len(jobs), "job"))
    parts += stops(node)
    state = ready(node)
    if state.status != "True" and state.message:
        parts.append(state.message)
    return ", ".join(parts)


def claimed(node: Document) -> str:
    """`1.5 of 4 vcpu claimed`; empty before there is an inventory."""
    vcpu = (status(node).get("capacity") or {}).get("vcpu")
    if not isinstance(vcpu, dict):
        return ""
    total = float(vcpu.get("total") or 0)
    usable = total * float(vcpu.get("cap") or 1) if 0 < float(vcpu.get("cap") or 1) <= 1 else total
    return f"{number(vcpu.get('reserved', 0))} of {number(usable)} vcpu claimed"


def stops(node: Document) -> list[str]:
    """Why nothing is placed here, with who said so."""
    found = []
    for block in status(node).get("noSchedule") or ():
        by = f" ({block['by']})" if block.get("by") else ""
        found.append(f"{str(block.get('reason', '')).lower()}{by}")
    if not found and spec(node).get("cordoned"):
        reason = spec(node).get("cordonReason")
        found.append(f"cordoned ({reason})" if reason else "cordoned")
    return found


def sentence(node: Document, world: World) -> str:
    """The predicate of line one, without the name."""
    state = ready(node)
    message = state.message.rstrip(".")
    tail = f": {message}" if message else ""
    match state.reason:
        case "-":
            return "has not been looked at since it was last changed."
        case "Connected":
            blocked = stops(node)
            text = f"is connected, {claimed(node)}" if claimed(node) else "is connected"
            return f"{text}{'; nothing is placed on it: ' + ', '.join(blocked) if blocked else ''}."
        case "Silent":
            since = world.since(condition(node, "Ready").get("lastTransitionTime"))
            return f"has been silent{' for ' + span(since) if since is not None else ''}{tail}."
        case "Lost":
            return f"is lost{tail}."
        case "Booting" | "NoInventory":
            return f"is not up yet{tail}."
        case "Deleting":
            return f"is being deleted{tail}."
        case _:
            return f"is {state.reason}{tail}."


def facts(node: Document, world: World) -> list[Fact]:
    found, asked = status(node), spec(node)
    generation, observed = metadata(node).get("generation", 0), found.get("observedGeneration", 0)
    beat = world.since(found.get("lastHeartbeat"))
    rows = [
        Fact("Pool", str(asked.get("pool", "-"))),
        Fact("Generation", f"{generation}, observed {observed}"),
        Fact("Address", str(found.get("address") or "-")),
        Fact("Zone", str(found.get("zone") or asked.get("zone") or "-")),
        Fact("Phase", str(found.get("phase", "-"))),
        Fact("Heartbeat", f"{span(beat)} ago" if beat is not None else "-"),
        Fact("Agent", str(found.get("agentVersion") or "-")),
        Fact("Provides", ", ".join(map(str, found.get("capabilities") or ())) or "-"),
    ]
    for resource, amount in sorted((found.get("capacity") or {}).items()):
        if isinstance(amount, dict):
            reserved, total = number(amount.get("reserved", 0)), number(amount.get("total", 0))
            rows.append(Fact(resource, f"{reserved} of {total} claimed, {number(amount.get('free', 0))} free"))
    return rows
