"""A trace as lines for people: every node of the pool, and what the tiers could start."""

from __future__ import annotations

from collections.abc import Sequence

from placement.trace import NodeTrace, TierTrace, Trace


def tree(told: Trace) -> str:
    """The sentence, then the nodes: chosen, kept in order, refused by name; then the tiers that start machines."""
    lines = [told.sentence]
    looked_at = [node for node in told.nodes if node.verdict != "not looked at"]
    if looked_at:
        telling = _telling(looked_at)
        lines += ["Nodes", *_columns([(node.node, node.verdict, _evidence(node, telling)) for node in looked_at])]
    lines += [
        f"  {tier.nodes} more, not looked at: an earlier tier than {tier.tier} could place it"
        for tier in told.tiers
        if not tier.looked_at and tier.nodes
    ]
    machines = [(tier.tier, _machine(tier)) for tier in told.tiers if tier.no_machine != "fixed"]
    if told.outcome != "placed" and machines:
        lines += ["New machines", *_columns(machines)]
    return "\n".join(lines) + "\n"


def _telling(nodes: list[NodeTrace]) -> list[str]:
    """The levels on which the nodes that are kept differ."""
    kept = [node.levels for node in nodes if not node.refusals]
    return [name for name in (kept[0] if kept else {}) if len({levels[name] for levels in kept}) > 1]


def _evidence(node: NodeTrace, telling: list[str]) -> str:
    if node.refusals:
        return "; ".join(node.refusals)
    return ", ".join(f"{name} {node.levels[name]:g}" for name in telling) or f"tier {node.tier}"


def _machine(tier: TierTrace) -> str:
    return f"no: {tier.no_machine}" if tier.no_machine else "yes"


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return ["  " + "  ".join([*(f"{cell:{w}}" for cell, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]
