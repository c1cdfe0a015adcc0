"""Pool: adds up what its nodes have and its jobs claim, and says what is short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from controllers.brake import Silence, silence, unhealthy
from controllers.runtime.controller import Reader
from controllers.runtime.decision import Decision, Facts
from resources import conditions
from resources.allocation import Allocation
from resources.conditions import Condition, condition
from resources.node import Node
from resources.pool import Pool, PoolStatus, Tier, TierStatus

HELD_SECONDS = 60.0
"""How often a pool under the brake is looked at again, should nothing wake it."""


@dataclass(frozen=True)
class PoolView:
    nodes: Sequence[Node] = ()
    allocations: Sequence[Allocation] = ()
    waiting_jobs: int = 0
    strangers: Sequence[str] = ()
    """What its ranking names and nothing brings."""


class PoolController:
    kind: ClassVar[str] = "pool"
    places: ClassVar[bool] = False

    def observe(self, resource: Pool, reader: Reader) -> PoolView:
        return PoolView(
            nodes=[node for node in reader.nodes(resource.name) if isinstance(node, Node)],
            allocations=tuple(reader.allocations(pool=resource.name)),
            waiting_jobs=reader.waiting_jobs(resource.name),
            strangers=reader.scheduling().strangers(resource.spec),
        )

    def decide(self, resource: Pool, view: PoolView, facts: Facts) -> Decision:
        fixed = resource.spec.fixed_tier
        told = silence(view.nodes, facts.now)
        ill = unhealthy(view.nodes)
        home = "" if fixed is None else fixed.name
        cap = sum(_vcpu(node, "cap") for node in view.nodes)
        claimed = sum(a.capacity_milli for a in view.allocations) / 1000
        status = PoolStatus(
            observed_generation=resource.generation,
            conditions=tuple(_conditions(resource, view, told, ill, claimed, cap)),
            node_count=len(view.nodes),
            used_capacity_fraction=round(claimed / cap, 6) if cap else 0,
            claimed_capacity=claimed,
            total_capacity=cap,
            waiting_jobs=view.waiting_jobs,
            tiers=tuple(_tier(tier, view.nodes, home) for tier in resource.spec.tiers),
        )
        return Decision(status, requeue_after=HELD_SECONDS if told.holds(resource.spec.brake) else None)


def _tier(tier: Tier, nodes: Iterable[Node], home: str) -> TierStatus:
    """Nodes without a tier belong to the fixed one."""
    mine = [node for node in nodes if (node.spec.tier or home) == tier.name]
    return TierStatus(
        name=tier.name,
        nodes=len(mine),
        prospective=sum(node.status.phase == "prospective" for node in mine if node.spec.provider != "agent"),
        max_nodes=tier.max_nodes,
        free_capacity=round(sum(_vcpu(node, "free") for node in mine), 3),
    )


def _vcpu(node: Node, part: str) -> float:
    amount = node.status.capacity.get("vcpu")
    return 0.0 if amount is None else float(getattr(amount, part))


def _conditions(
    pool: Pool, view: PoolView, told: Silence, ill: Silence, claimed: float, cap: float
) -> Iterable[Condition]:
    waits = _waits(view.waiting_jobs)
    elastic = [tier.name for tier in pool.spec.tiers if tier.scale_out == "elastic"]
    later = "" if not elastic else f"; {_tiers(elastic)} no machines yet: this version provisions none"
    if view.strangers:
        gone = ", ".join(f'"{name}"' for name in view.strangers)
        later += f"; its ranking names {gone}, which no plugin brings: passed over"
    if view.nodes:
        nodes = _counted(len(view.nodes), "node")
        parts = [nodes, f"{claimed:g} of {cap:g} vcpu claimed", *([waits] if waits else [])]
        yield condition("Ready", True, "HasCapacity", ", ".join(parts) + later)
    else:
        join = f"has no nodes: rmctl node join NAME --pool {pool.name}"
        yield condition("Ready", False, "NoNodes", join + later)
    if waits:
        yield condition("CapacityShort", True, "NoFit", waits + later)
    elif conditions.find(pool.status.conditions, "CapacityShort") is not None:
        yield condition("CapacityShort", False, "HasCapacity", "no job waits")
    held = []
    if told.holds(pool.spec.brake):
        held.append(f"{told.told(pool.name)}: none is declared lost until fewer are")
    if ill.holds(pool.spec.brake):
        held.append(f"{ill.told(pool.name)}: look for what they share; none is replaced until fewer are")
    if held:
        yield condition("RemediationHeld", True, "MassLoss", "; ".join(held))
    elif conditions.find(pool.status.conditions, "RemediationHeld") is not None:
        yield condition("RemediationHeld", False, "NodesBack", "losses are acted on")


def _waits(jobs: int) -> str:
    return "" if not jobs else f"{_counted(jobs, 'job')} wait" + "s" * (jobs == 1)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + "s" * (number != 1)


def _tiers(names: Sequence[str]) -> str:
    return f"tier {names[0]} has" if len(names) == 1 else f"tiers {', '.join(names)} have"
