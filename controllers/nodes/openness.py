"""Whether a node takes new work, and why not: its rows against scheduling, in one fixed order."""

from __future__ import annotations

from controllers.nodes.life import Life
from controllers.runtime.decision import Block, Unblock
from resources.conditions import Condition, condition
from resources.facts import NodeFacts
from resources.node import Node, NoSchedule

Reason = tuple[str, str]
"""The reason as the placer tells it, and whose word it is."""
WRITTEN = ("unreachable", "dedicated")
"""The rows that this controller writes and takes back. A cordon is written with the spec that says it."""


def reasons(node: Node, facts: NodeFacts | None, life: Life) -> tuple[Reason, ...]:
    found: list[Reason] = []
    if life.phase in ("silent", "lost"):
        found.append(("unreachable", ""))
    if facts is None:
        found.append(("no inventory", ""))
    if node.spec.cordoned:
        found.append(("cordoned", "spec"))
    found += [(f"dedicated={taint.value}", "") for taint in node.spec.taints]
    return tuple(found)


def blocks(node: Node, wanted: tuple[Reason, ...]) -> tuple[Block | Unblock, ...]:
    """What is to be written so that the rows say what is so."""
    standing = {(row.reason, row.by) for row in node.status.no_schedule if _written(row.reason)}
    mine = [(reason, by) for reason, by in wanted if _written(reason)]
    new = tuple(Block(node.name, reason, by) for reason, by in mine if (reason, by) not in standing)
    old = tuple(Unblock(node.name, reason, by) for reason, by in sorted(standing - set(mine)))
    return new + old


def rows(node: Node, wanted: tuple[Reason, ...], now: float) -> tuple[NoSchedule, ...]:
    since = {(row.reason, row.by): row.since for row in node.status.no_schedule}
    return tuple(NoSchedule(reason=r, by=by, since=since.get((r, by), now)) for r, by in wanted)


def schedulable(node: Node, wanted: tuple[Reason, ...]) -> Condition:
    """The first reason names the condition."""
    if not wanted:
        return condition("Schedulable", True, "Open", "takes new jobs")
    reason = wanted[0][0]
    match reason.partition("="):
        case ("cordoned", _, _):
            why = f": {node.spec.cordon_reason}" if node.spec.cordon_reason else ""
            return condition("Schedulable", False, "Cordoned", f"is cordoned{why}; rmctl uncordon {node.name} opens it")
        case ("dedicated", _, tenant):
            return condition("Schedulable", False, "Dedicated", f"takes jobs of {tenant} only")
        case ("no inventory", _, _):
            return condition("Schedulable", False, "NoInventory", "nothing is known of what it has")
        case _:
            return condition("Schedulable", False, "Unreachable", "is not heard of")


def _written(reason: str) -> bool:
    return reason.partition("=")[0] in WRITTEN
