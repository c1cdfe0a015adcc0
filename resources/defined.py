"""Defined: a resource of a kind that a definition file describes; its models live in that file."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from resources.canonical import Document
from resources.frozen import Frozen
from resources.resource import Resource, Spec, Status

RESERVED = ("observedGeneration", "conditions", "workflowRun")
"""Fields of a status that are the runtime's."""


class DefinedSpec(Spec):
    """Whatever the definition's own model has taken."""

    model_config = ConfigDict(extra="allow")


class WorkflowRun(Frozen):
    """The child run that a resource asked for last. `requestId` is the key that it asked under."""

    request_id: str
    run_id: str
    state: str
    attempt: int


class DefinedStatus(Status):
    """The runtime's fields, and beside them those of the definition."""

    model_config = ConfigDict(extra="allow")

    workflow_run: WorkflowRun | None = None

    @property
    def own(self) -> Document:
        """What the definition reported."""
        return dict(self.__pydantic_extra__ or {})


class Defined(Resource[DefinedSpec, DefinedStatus]):
    """One as it was read."""


def status_of(own: Document, **kept: Any) -> DefinedStatus:
    """A status with these fields of the definition, and the runtime's in snake case."""
    return DefinedStatus.model_validate({**own, **kept})
