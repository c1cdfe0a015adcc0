"""What has come to its end: lists leave it out unless they are asked for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ENDING_KINDS = frozenset({"drain", "migration", "interruption", "reservation"})
"""Those that pass: they are listed before bundles."""


def ended(document: Mapping[str, Any]) -> bool:
    """A reservation ends with its time, the others when they are ready or have given up."""
    if document.get("kind") not in ENDING_KINDS:
        return False
    conditions = (document.get("status") or {}).get("conditions") or ()
    true = {one.get("type"): one.get("reason") for one in conditions if one.get("status") == "True"}
    if document["kind"] == "reservation":
        return true.get("Ready") == "Expired"
    return "Ready" in true or "Stalled" in true
