"""The root that people who write definitions import from."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from resources.version import VERSION

if TYPE_CHECKING:
    from controllers.definitions.children import NoWorkflow, Run
    from controllers.definitions.context import Cancelled, Context
    from controllers.definitions.results import (
        KEEP,
        Result,
        condition_false,
        condition_true,
        condition_unknown,
    )
    from controllers.definitions.sdk import Definition, Metadata, Resource, Spec, Status, resource_manager
    from controllers.definitions.touching import Effect, EffectMismatch, ObserveFailed
    from controllers.definitions.workflows import StepFailed, Workflow, WorkflowContext, workflow
    from resources.conditions import Condition
    from resources.effect import Absent, Applied, Deferred, Rejected, Unknown

__version__ = VERSION
__all__ = [
    "KEEP",
    "Absent",
    "Applied",
    "Cancelled",
    "Condition",
    "Context",
    "Deferred",
    "Definition",
    "Effect",
    "EffectMismatch",
    "Metadata",
    "NoWorkflow",
    "ObserveFailed",
    "Rejected",
    "Resource",
    "Result",
    "Run",
    "Spec",
    "Status",
    "StepFailed",
    "Unknown",
    "Workflow",
    "WorkflowContext",
    "condition_false",
    "condition_true",
    "condition_unknown",
    "resource_manager",
    "workflow",
]
_HOMES = {
    "controllers.definitions.children": ("NoWorkflow", "Run"),
    "controllers.definitions.workflows": ("StepFailed", "Workflow", "WorkflowContext", "workflow"),
    "controllers.definitions.context": ("Cancelled", "Context"),
    "controllers.definitions.results": ("KEEP", "Result", "condition_false", "condition_true", "condition_unknown"),
    "controllers.definitions.sdk": ("Definition", "Metadata", "Resource", "Spec", "Status", "resource_manager"),
    "controllers.definitions.touching": ("Effect", "EffectMismatch", "ObserveFailed"),
    "resources.conditions": ("Condition",),
    "resources.effect": ("Absent", "Applied", "Deferred", "Rejected", "Unknown"),
}


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: the command imports this package too, and starts fast."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
