"""A kind as the registry lists it: its names, its models, where it lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from resources.canonical import Document
from resources.reference import Ref
from resources.resource import Resource, Spec, Status

Propose = Callable[[Ref, Document], Document]
"""From a spec that is to be stored to the initial status of its resource. Raises Unresolved, Invalid, Undefined."""


class Unresolved(Exception):
    """The file that defines a kind has not been asked yet: `resolve` asks it, and is not for a transaction."""

    def __init__(self, ref: Ref, resolve: Callable[[], None]) -> None:
        super().__init__(f"{ref}: the definition has not been asked yet")
        self.ref = ref
        self.resolve = resolve


class Undefined(Exception):
    """There is no file, or none that works, behind a kind in a project."""

    def __init__(self, ref: Ref, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.ref = ref
        self.hint = hint


class SourceChanged(Exception):
    """The file was written to while it was asked."""

    def __init__(self, ref: Ref) -> None:
        super().__init__("source changed while the definition was asked")
        self.ref = ref


@dataclass(frozen=True)
class Kind:
    """`short` are the abbreviations that `rmctl get` takes; `order` is where `get resources` lists it."""

    name: str
    plural: str
    resource: type[Resource[Any, Any]]
    spec: type[Spec]
    status: type[Status]
    short: tuple[str, ...] = ()
    namespaced: bool = True
    order: int = 100
    applied: bool = True
    """Whether people may apply it; a job belongs to its bundle."""
    propose: Propose | None = None
    """Of a kind that a file defines: the check of a spec, and the status that it starts with."""
