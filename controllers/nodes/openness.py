"""Whether a node takes new work, and why not: its rows against scheduling, in one fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controllers.nodes.life import Life
from controllers.runtime.decision import Block, Unblock
from resources.conditions import Condition, condition
from resources.facts import NodeFacts
from resources.node import Amount, Node, NoSchedule

Reason = tuple[str, str]
"""The reason as the placer tells it, and whose word it is."""
WRITTEN = ("unreachable", "terminating", "unhealthy", "dedicated")
"""The rows that this controller writes and takes back. A cordon is written with the spec that says it."""


def reasons(
    node: Node, facts: NodeFacts | None, life: Life, *, unhealthy: bool = False, terminating: bool = False
) -> tuple[Reason, ...]:
    """The node's own."""
    found: list[Reason] = []
    if life.phase in ("silent", "lost"):
        found.append(("unreachable", ""))
    if facts is None:
        found.append(("no inventory", ""))
    if terminating:
        found.append(("terminating", ""))
    if unhealthy:
        found.append(("unhealthy", ""))
    if node.spec.cordoned:
        found.append(("cordoned", "spec"))
    found += [(f"dedicated={taint.value}", "") for taint in node.spec.taints]
    return tuple(found)


def blocks(wanted: tuple[Reason, ...], standing: Sequence[NoSchedule], node: str) -> tuple[Block | Unblock, ...]:
    """What is to be written so that the rows say what is so."""
    own = {(row.reason, row.by) for row in standing if _written(row.reason) and not row.by}
    mine = [(reason, by) for reason, by in wanted if _written(reason)]
    new = tuple(Block(node, reason, by) for reason, by in mine if (reason, by) not in own)
    old = tuple(Unblock(node, reason, by) for reason, by in sorted(own - set(mine)))
    return new + old


def rows(node: Node, wanted: tuple[Reason, ...], standing: Sequence[NoSchedule], now: float) -> tuple[NoSchedule, ...]:
    """The node's own as they are from now on, and behind them those that somebody else wrote."""
    since = {(row.reason, row.by): row.since for row in (*standing, *node.status.no_schedule)}
    mine = tuple(NoSchedule(reason=r, by=by, since=since.get((r, by), now)) for r, by in wanted)
    others = [row for row in standing if not _own(row)]
    return (*mine, *sorted(others, key=lambda row: (row.reason, row.by)))


def schedulable(node: Node, rows: Sequence[NoSchedule], capacity: Mapping[str, Amount]) -> Condition:
    """The first row names the condition; a node that shrank below its claims is closed by itself."""
    if not rows:
        over = [f"{a.reserved:g} of {a.cap:g} {name}" for name, a in capacity.items() if a.reserved > a.cap]
        if over:
            return condition("Schedulable", False, "Overclaimed", f"has less than is claimed on it: {', '.join(over)}")
        return condition("Schedulable", True, "Open", "takes new jobs")
    reason, by = rows[0].reason, rows[0].by
    match reason.partition("="):
        case ("cordoned", _, _) if by != "spec":
            return condition("Schedulable", False, "Cordoned", f"is cordoned by {by}")
        case ("cordoned", _, _):
            why = f": {node.spec.cordon_reason}" if node.spec.cordon_reason else ""
            return condition("Schedulable", False, "Cordoned", f"is cordoned{why}; rmctl uncordon {node.name} opens it")
        case ("dedicated", _, tenant):
            return condition("Schedulable", False, "Dedicated", f"takes jobs of {tenant} only")
        case ("terminating", _, _):
            return condition("Schedulable", False, "Terminating", "its machine is being ended")
        case ("unhealthy", _, _):
            return condition("Schedulable", False, "Unhealthy", "is kept out of placements for now")
        case ("no inventory", _, _):
            return condition("Schedulable", False, "NoInventory", "nothing is known of what it has")
        case ("unreachable", _, _):
            return condition("Schedulable", False, "Unreachable", "is not heard of")
        case _:
            return condition(
                "Schedulable", False, "Closed", f"takes no new jobs: {reason}" + (f" ({by})" if by else "")
            )


def _own(row: NoSchedule) -> bool:
    """Written by this controller, or with the spec of the node."""
    return row.by == "spec" or (_written(row.reason) and not row.by)


def _written(reason: str) -> bool:
    return reason.partition("=")[0] in WRITTEN
