"""The envelope: what every resource has, whatever its kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

from resources.broken_rules import BrokenRule
from resources.canonical import Document
from resources.conditions import Condition
from resources.frozen import Frozen
from resources.reference import Ref

KEY_ANNOTATION = "rmctl/key"
"""It holds a key which is no name."""


class Spec(Frozen):
    """What callers ask."""

    @classmethod
    def broken_rules(cls, document: Mapping[str, Any]) -> Iterable[BrokenRule]:  # noqa: ARG003  most kinds have none
        """What is wrong between the fields of a document of any shape, told beside what is wrong with each field."""
        return ()


class Status(Frozen):
    """What the controller last observed."""

    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class Kept(Enum):
    """Nothing is said of the status, and the one that is stored stays."""

    STATUS = "kept"


S = TypeVar("S", bound=Spec)
T = TypeVar("T", bound=Status)


@dataclass(frozen=True)
class Resource(Generic[S, T]):
    """A durable record of one requested outcome, as it was read.

    `document` is the spec as it was asked for, without defaults; `spec` is the same with defaults. Instants are unix
    seconds.
    """

    ref: Ref
    uid: str
    generation: int
    resource_version: int
    spec: S
    status: T
    document: Document = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner: str | None = None
    """uid of the owning resource"""
    created_at: float = 0.0
    deletion_timestamp: float | None = None
    texts: Any = field(default=None, compare=False, repr=False)
    """What the store read it from; the store's own."""

    @property
    def name(self) -> str:
        return self.ref.name

    @property
    def key(self) -> str:
        """What people call it, where its name only stands for that."""
        return self.annotations.get(KEY_ANNOTATION, self.ref.name)

    @property
    def project(self) -> str:
        return self.ref.project

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None
