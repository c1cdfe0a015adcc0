"""Child runs: finite work that a resource asked for, as it is on record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from resources.canonical import Document, fingerprint
from resources.reference import Ref

RunState = Literal["pending", "running", "waiting", "succeeded", "failed", "interrupted"]
ACTIVE: frozenset[str] = frozenset({"pending", "running", "waiting"})
FINAL: frozenset[str] = frozenset({"succeeded", "failed", "interrupted"})


@dataclass(frozen=True)
class Request:
    """What a resource wants run once. `key` is the resource's own name for it."""

    key: str
    workflow: str
    input: Document

    @property
    def fingerprint(self) -> str:
        return fingerprint({"workflow": self.workflow, "input": self.input})


@dataclass(frozen=True)
class RunRecord:
    """One attempt. `epoch` counts the processes that were at it; `waits_for` is the step that a person must judge.

    `engine` is the one that has begun it and keeps its steps; `forked_from` is the run whose steps it began behind.
    """

    run_id: str
    uid: str
    key: str
    attempt: int
    owner: Ref
    workflow: str
    fingerprint: str
    input: Document
    state: RunState
    epoch: int
    created_at: float
    result: Any = None
    error: str | None = None
    waits_for: str | None = None
    completed_at: float | None = None
    engine: str | None = None
    forked_from: str | None = None


@dataclass(frozen=True)
class StepRecord:
    """`manual`: a deed that must not be repeated on a guess. `started` without an end is uncertain."""

    name: str
    state: Literal["started", "done", "failed"]
    manual: bool
    epoch: int
    result: Any = None
    error: str | None = None
    checkpoint: bool = False


@dataclass(frozen=True)
class Completion:
    """How a scheduler says that a run has come to its end; it names what it was given."""

    uid: str
    key: str
    run_id: str
    attempt: int
    state: Literal["succeeded", "failed", "interrupted"]
    result: Any = None
    error: str | None = None
