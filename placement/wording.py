"""How a refusal is worded, wherever it was found."""

from __future__ import annotations

from collections.abc import Collection

from placement.request import spoken


def printed(filter_name: str, reason: str) -> str:
    """As it is counted; what keeps everybody away speaks for itself."""
    return reason if filter_name == "schedulable" else f"{filter_name}: {reason}"


def held_by(owners: Collection[str]) -> str:
    return f"held by {spoken(min(owners))}"


def taken(port: str) -> str:
    return f"{port} taken"
