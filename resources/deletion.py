"""What is told of a resource that is being deleted."""

from __future__ import annotations

from collections.abc import Sequence

WORDS = "is being deleted"
CAUSES = frozenset(
    {"Deleting", "ReconcileFailed", "NoDefinition", "DefinitionUnusable", "EffectUnknown", "EffectDeferred"}
)
"""Reasons of Ready that say what a deletion waits for; any other is of before it was asked for, or says less."""


def clause(since: str, message: str, left: Sequence[str]) -> str:
    """Since when, what its controller says, and the finalizers that are left. `message` is that of Ready, or empty."""
    doing = message.removeprefix(WORDS).lstrip(": ")
    kept = f"{', '.join(left)} left" if left else ""
    told = "; ".join(part for part in (doing, kept) if part)
    return f"{WORDS} since {since}" + (f": {told}" if told else "")
