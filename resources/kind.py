"""A kind as the registry lists it: its names, its models, where it lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resources.resource import Resource, Spec, Status


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
