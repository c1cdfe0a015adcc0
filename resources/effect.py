"""Effects: one intended touch of the world, its record, and the answers a driver may give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from resources.canonical import Document, fingerprint
from resources.reference import Ref

EffectState = Literal["pending", "applied", "rejected", "indeterminate"]
FINAL: frozenset[str] = frozenset({"applied", "rejected"})
CANCELLED = "cancelled"
"""Code of an effect that was withdrawn before it happened: nobody refused anything."""
STOPPED_FIRST = "JOB_REJECTED_CANCELLED"
"""Code of a start whose stop reached the node before it."""
INVALID_SPEC = "JOB_REJECTED_INVALID_SPEC"
"""Code of a start that no node would carry out."""
EFFECTS_FINALIZER = "rmctl/effects"
"""Kept on the owner while one of its effects is pending or indeterminate."""


@dataclass(frozen=True)
class Effect:
    """What a decision wants done once.

    `key` says what is meant and how often; `target` names the node or object acted on.
    """

    kind: str
    key: str
    provider: str
    request: Document
    target: str = ""

    @property
    def fingerprint(self) -> str:
        return fingerprint({"kind": self.kind, "request": self.request, "target": self.target})


@dataclass(frozen=True)
class EffectRecord:
    """The ledger row of an effect. Identity is (uid of the owner, key). Instants are unix seconds."""

    uid: str
    key: str
    owner: Ref
    kind: str
    provider: str
    target: str
    generation: int
    fingerprint: str
    request: Document
    state: EffectState
    attempts: int
    created_at: float
    external_ref: str | None = None
    error: str | None = None
    code: str | None = None
    started_at: float | None = None
    completed_at: float | None = None
    available_at: float = 0.0
    cancelled: bool = False
    """No longer wanted: observed if it was tried, and not applied any more."""

    @property
    def final(self) -> bool:
        return self.state in FINAL

    @property
    def id(self) -> str:
        """Unique in the store and stable: what a provider gets as its token."""
        return f"{self.uid}:{self.key}"

    @property
    def whole(self) -> bool:
        """Whether it still asks for what it was recorded with."""
        return self.fingerprint == Effect(self.kind, self.key, self.provider, self.request, self.target).fingerprint

    @property
    def words(self) -> str:
        """For people: what, which try, and where."""
        return f"{self.kind} {self.key} on {self.target}" if self.target else f"{self.kind} {self.key}"


@dataclass(frozen=True)
class Applied:
    """It happened; `ref` is the provider's id."""

    ref: str
    detail: Document = field(default_factory=dict)


@dataclass(frozen=True)
class Rejected:
    """It did not happen and will not."""

    error: str
    code: str = ""


@dataclass(frozen=True)
class Deferred:
    """It certainly did not happen; ask again after `retry_after` seconds."""

    reason: str
    retry_after: float


@dataclass(frozen=True)
class Unknown:
    """It may or may not have happened."""

    reason: str


@dataclass(frozen=True)
class Absent:
    """Looked for and certainly not there."""


Answer = Applied | Rejected | Deferred | Unknown
Observation = Applied | Absent | Unknown
