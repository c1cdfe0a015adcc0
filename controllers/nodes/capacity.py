"""What a node has, what of it may be claimed, what is claimed and what is free."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.runtime.decision import Room
from resources.allocation import Allocation
from resources.devices import Device
from resources.facts import Inventory, NodeFacts
from resources.node import Amount, Node, NodeSpec
from resources.quantities import scaled_down
from resources.windows import peak


def amounts(
    spec: NodeSpec, facts: NodeFacts | None, allocations: Sequence[Allocation], now: float
) -> dict[str, Amount]:
    """By resource; vCPU as units, memory in MiB. The cap is a part of the vCPU; cores and memory count whole.

    Reserved is the most that is held at once from now on: what is left is there for good.
    """
    if facts is None:
        return {}
    has = facts.inventory
    vcpu = scaled_down(has.capacity_milli, cap_of(spec, has))
    return {
        "vcpu": _amount(has.capacity_milli, vcpu, _reserved("capacity_milli", allocations, now), 1000),
        "cores": _amount(has.cores, has.cores, _reserved("cores", allocations, now)),
        "memory": _amount(has.memory_mib, has.memory_mib, _reserved("memory_mib", allocations, now)),
    }


def _reserved(name: str, allocations: Sequence[Allocation], now: float) -> int:
    return peak([one.hold(getattr(one, name), now) for one in allocations], now, None)


def rooms(node: Node, facts: NodeFacts | None, devices: tuple[Device, ...] = ()) -> tuple[Room, ...]:
    """What the ledger guards: totals and what of them may be claimed. A node that was never heard of has none."""
    if facts is None:
        return ()
    has = facts.inventory
    vcpu = scaled_down(has.capacity_milli, cap_of(node.spec, has))
    amounts = {
        "vcpu": (has.capacity_milli, vcpu),
        "cores": (has.cores, has.cores),
        "memory": (has.memory_mib, has.memory_mib),
    }
    return (Room(node.name, node.spec.pool, amounts, devices),)


def cap_of(spec: NodeSpec, inventory: Inventory) -> float:
    """A person's word, else the agent's where that is a fraction, else all of it."""
    if spec.utilization_cap is not None:
        return spec.utilization_cap
    return inventory.utilization_cap if 0 < inventory.utilization_cap <= 1 else 1.0


def _amount(total: int, cap: int, reserved: int, unit: int = 1) -> Amount:
    """Free is never below zero: a node that shrank under its claims has nothing to give."""
    return Amount(total=total / unit, cap=cap / unit, reserved=reserved / unit, free=max(cap - reserved, 0) / unit)
