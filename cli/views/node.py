"""A node: how much of it is claimed, and why nothing more is placed on it."""

from __future__ import annotations

from cli.durations import span
from cli.views.wire import Document, Fact, Row, World, metadata, number, ready, spec, status


def row(node: Document, world: World) -> Row:
    found, asked = status(node), spec(node)
    parts = [str(part) for part in (_tier(node, world), found.get("zone") or asked.get("zone")) if part]
    return Row(", ".join(parts) or "-", _detail(node))


def _tier(node: Document, world: World) -> object:
    """Registered nodes belong to their pool's fixed tier, which need not be written down."""
    pool = spec(node).get("pool")
    return spec(node).get("tier") or world.fixed_tier(str(pool)) or pool


def _detail(node: Document) -> str:
    """Its Ready message counts what is claimed; what keeps new jobs away stands behind it."""
    message = ready(node).message
    return ", ".join(part for part in (message.removeprefix("is connected, "), *stops(node)) if part)


def stops(node: Document) -> list[str]:
    """Why nothing is placed here, with who said so."""
    found = []
    for block in status(node).get("noSchedule") or ():
        reason = str(block.get("reason", "")).lower()
        by = spec(node).get("cordonReason") if block.get("by") == "spec" else block.get("by")
        found.append(f"{reason} ({by})" if by else reason)
    return found


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
            reserved, cap, free = (number(amount.get(part, 0)) for part in ("reserved", "cap", "free"))
            unit = " MiB" if resource == "memory" else ""
            rows.append(Fact(resource, f"{reserved} of {cap}{unit} claimed, {free} free"))
    return rows + [Fact(f"gpu {gpu.get('index', '-')}", _gpu(gpu)) for gpu in found.get("gpus") or ()]


def _gpu(gpu: Document) -> str:
    words = [str(gpu.get("id", "-")), str(gpu.get("model") or ""), f"{number(gpu.get('reserved', 0))} of 1 claimed"]
    return ", ".join([*filter(None, words), *(() if gpu.get("healthy", True) else ("sick",))])
