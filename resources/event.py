"""Events: what happened to a resource, kept and merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["Normal", "Warning"]


@dataclass(frozen=True)
class Event:
    """`type` is PascalCase; equal (type, severity, message) of one resource merge into one row with a count."""

    type: str
    message: str
    severity: Severity = "Normal"
    payload: Mapping[str, Any] = field(default_factory=dict)


AUDIT = "AuditAppended"
"""Who did what: kept whatever else happens to the resource."""
CHRONICLE = ("ResourceCreated", "SpecChanged", "DeletionRequested", "ResourceDeleted", "EffectPending", "EffectApplied")
"""Types by which the store tells what every resource goes through; beside the resource and its effects they say nothing
new."""
