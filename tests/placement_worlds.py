"""Small fleets for tests of the placer: name only what the test is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from placement import Amounts, Claim, FleetView, NodeView, PoolPolicy, Request, TierPolicy

POOL = "main"
LOCAL = TierPolicy(name="local")
ONE_TIER = PoolPolicy(tiers=(LOCAL,))


def vcpu(number: float, cores: int = 0, memory: int = 0) -> Amounts:
    return Amounts(round(number * 1000), cores, memory)


def owner(name: str) -> str:
    """`ch/primary/encode` as claims and requests spell it."""
    return f"default/{name.replace('/', '.')}"


def a_request(name: str = "ch/primary/encode", ask: float | Amounts = 1, **fields: Any) -> Request:
    bundle, role, job = name.split("/")
    amounts = ask if isinstance(ask, Amounts) else vcpu(ask)
    for key in ("together", "separate", "peers"):
        if key in fields:
            fields[key] = frozenset(owner(peer) for peer in fields[key])
    given = {"owner": owner(name), "pool": POOL, "bundle": bundle, "role": role, "job": job, "amounts": amounts}
    return Request(**{**given, **fields})


def a_node(name: str = "a", has: float | Amounts = 4, *, labels: Mapping[str, str] | None = None, **f: Any) -> NodeView:
    """A booted node of tier local, zone z-NAME; plain labels are the system's."""
    capacity = has if isinstance(has, Amounts) else vcpu(has, 64, 1 << 20)
    told = {key: (value, "system") for key, value in (labels or {}).items()}
    given = {"name": name, "pool": POOL, "tier": "local", "cloud": "local-servers", "zone": f"z-{name}"}
    return NodeView(**{**given, "capacity": capacity, "labels": told, **f})


def a_claim(node: str, name: str = "other/primary/job", ask: float | Amounts = 1, **fields: Any) -> Claim:
    """Its allocation is named after owner and node."""
    amounts = ask if isinstance(ask, Amounts) else vcpu(ask)
    return Claim(fields.pop("allocation", f"{name}@{node}"), node, owner(name), amounts, **fields)


def a_fleet(*nodes: NodeView, claims: Iterable[Claim] = ()) -> FleetView:
    fleet = FleetView()
    for node in nodes:
        fleet.put_node(node)
    for claim in claims:
        fleet.put_claim(claim)
    return fleet
