"""The node that somebody could add for a request: its name, its size and the command that joins it."""

from __future__ import annotations

import re

from placement.amounts import Amounts, spell
from placement.fleet import FleetView
from placement.node import NodeView
from placement.policy import TierPolicy
from placement.request import ANY_VALUE, CAPABILITY_PREFIX, DRIVER_PREFIX, SYSTEM_PREFIX, Request
from placement.scene import scene_of

DEFAULT_POOL = "default"
OWN_DRIVER = f"{DRIVER_PREFIX}process"
"""What every agent brings, so nobody need ask for it."""


def newcomer(request: Request, fleet: FleetView, tier: TierPolicy) -> NodeView:
    """An empty node of this tier that has what the request asks, sized to the next power of two in vcpu."""
    asked = request.asked
    vcpu = max(-(-asked.capacity_milli // 1000), asked.cores, 1)
    size = 1 << (vcpu - 1).bit_length()
    peer_zones = [min(zones) for _, zones in scene_of(request, fleet, tier).zones]
    return NodeView(
        name=next_name(fleet, request.pool),
        pool=request.pool,
        tier=tier.name,
        cloud=tier.kind,
        zone=peer_zones[0] if peer_zones and request.same_zone == "hard" else "",
        capacity=Amounts(size * 1000, size, asked.memory_mib),
        labels={key: ("" if value == ANY_VALUE else value, "system") for key, value in request.labels.items()},
    )


def next_name(fleet: FleetView, pool: str) -> str:
    """The name that goes on where the pool's names end: node-c, node-d; web-9, web-10."""
    names = [node.name for node in fleet.pool(pool)] or ["node-`"]
    stem, letter, number = re.fullmatch(r"(.*?)(?:(?<=-)([a-z`])|(\d*))", names[-1]).groups("")  # type: ignore[union-attr]
    candidates = [f"{stem}{chr(code)}" for code in range(ord(letter) + 1, ord("z") + 1)] if letter else []
    first = int(number or 0) + 1
    prefix = stem if number else f"{names[-1].rstrip('`').rstrip('-')}-"
    candidates += [f"{prefix}{at}" for at in range(first, first + 10_000)]
    return next(name for name in candidates if fleet.node(name) is None)


def described(node: NodeView) -> str:
    parts = [f"{spell('vcpu', node.capacity.capacity_milli)} vcpu"]
    if node.capacity.memory_mib:
        parts.append(f"{node.capacity.memory_mib} memory")
    parts += [_told(key, value) for key, (value, _) in node.labels.items() if key != OWN_DRIVER]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    return f"a node with {listed}" + (f" in {node.zone}" if node.zone else "")


def join_command(node: NodeView) -> str | None:
    """The command that joins it; None where no option gives it what it needs."""
    words = ["rmctl node join", node.name, "--capacity", spell("vcpu", node.capacity.capacity_milli)]
    for key, (value, _) in node.labels.items():
        if key == OWN_DRIVER:
            continue
        if key.startswith(CAPABILITY_PREFIX) and not value:
            words += ["--capability", key.removeprefix(CAPABILITY_PREFIX)]
        elif key.startswith(SYSTEM_PREFIX) or not value:
            return None
        else:
            words += ["--label", f"{key}={value}"]
    if node.zone:
        words += ["--zone", node.zone]
    if node.pool != DEFAULT_POOL:
        words += ["--pool", node.pool]
    return " ".join(words)


def _told(key: str, value: str) -> str:
    if key.startswith(CAPABILITY_PREFIX):
        return key.removeprefix(CAPABILITY_PREFIX)
    return f"{key}={value}" if value else key
