"""What a definition is written with: its models, its decorator, and what it is handed in a pass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from controllers.definitions.results import Result
from resources.canonical import Document
from resources.conditions import Condition
from resources.defined import RESERVED
from resources.frozen import Frozen
from resources.names import KIND
from resources.schedules import Cron, TimeZone

DEADLINE_SECONDS = 60.0
MAX_DEADLINE_SECONDS = 3600
ZONES: TypeAdapter[Any] = TypeAdapter(TimeZone)
CRONS: TypeAdapter[Any] = TypeAdapter(Cron | None)
S = TypeVar("S")
T = TypeVar("T")


class Spec(Frozen):
    """What callers ask. Fields are camelCase in manifests; unknown ones are refused."""


class Status(Frozen):
    """What the definition last observed."""


@dataclass(frozen=True)
class Metadata:
    """Who a resource is. Instants are unix seconds."""

    uid: str
    kind: str
    key: str
    project: str
    resource_version: int
    generation: int
    finalizers: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    deletion_timestamp: float | None = None


@dataclass(frozen=True)
class Resource(Generic[S, T]):
    """One resource, as it stood when the pass began."""

    metadata: Metadata
    spec: S
    status: T
    conditions: tuple[Condition, ...] = ()

    @property
    def key(self) -> str:
        return self.metadata.key

    @property
    def deleting(self) -> bool:
        """Deletion was asked for: clean up, then return without your finalizer."""
        return self.metadata.deletion_timestamp is not None


@dataclass(frozen=True)
class Definition:
    """What a definition file exports, once."""

    name: str
    spec: type[BaseModel]
    status: type[BaseModel] | None
    reconcile: Callable[..., Any]
    initial_status: Callable[[Any], Any] | None = None
    deadline: float = DEADLINE_SECONDS
    every: float | None = None
    cron: str | None = None
    time_zone: str = "UTC"
    watch: Callable[[Any], Iterable[Any]] | None = None

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.reconcile)

    def first_status(self, spec: Any) -> Document:
        """What a new resource starts with."""
        if self.initial_status is not None:
            return own_status(self, self.initial_status(spec))
        return {} if self.status is None else own_status(self, self.status())


def resource_manager(
    name: str,
    *,
    spec: type[BaseModel],
    status: type[BaseModel] | None = None,
    initial_status: Callable[[Any], Any] | None = None,
    deadline: float = DEADLINE_SECONDS,
    every: float | None = None,
    cron: str | None = None,
    time_zone: str = "UTC",
    watch: Callable[[Any], Iterable[Any]] | None = None,
) -> Callable[[Callable[..., Result | Any]], Definition]:
    """Makes a definition of `reconcile(ctx, resource)`, async or plain.

    `deadline` are the seconds that one pass may take. A settled resource is looked at again `every` so many seconds,
    more or less; at the instants of `cron`, five fields read in `time_zone`; and when one of the files changes whose
    paths `watch(resource)` returns. Raises ValueError for what cannot be.
    """
    if not isinstance(name, str) or not KIND.fullmatch(name):
        raise ValueError(f'name "{name}": must match {KIND.pattern}')
    for word, model in (("spec", spec), ("status", status)):
        if not (model is None and word == "status") and not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise ValueError(f"{word}: expected a class made from rmctl.{word.title()}, got {model!r:.80}")
    if status is not None:
        _check_status(status, begins=initial_status is None)
    if not _number(deadline) or not 0 < deadline <= MAX_DEADLINE_SECONDS:
        raise ValueError(f"deadline: must be > 0 seconds and at most {MAX_DEADLINE_SECONDS}; longer work is a workflow")
    if every is not None and (not _number(every) or not every >= 1):
        raise ValueError("every: must be >= 1 seconds")
    for word, adapter, value in (("time_zone", ZONES, time_zone), ("cron", CRONS, cron)):
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            raise ValueError(f"{word}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None
    return lambda reconcile: Definition(
        name, spec, status, _checked(reconcile), initial_status, deadline, every, cron, time_zone, watch
    )


def _check_status(model: type[BaseModel], *, begins: bool) -> None:
    """Raises ValueError for a model with the runtime's fields, and for one that `begins` with nothing and cannot."""
    _check_own(info.alias or name for name, info in model.model_fields.items())
    needed = [info.alias or name for name, info in model.model_fields.items() if info.is_required()]
    if begins and needed:
        raise ValueError(
            f"status.{needed[0]}: expected a default, or an initial_status: a new resource has no status yet"
        )


def _check_own(names: Iterable[str]) -> None:
    taken = next((name for name in names if name in RESERVED), None)
    if taken is not None:
        raise ValueError(f"status.{taken} is the runtime's")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _checked(reconcile: Callable[..., Any]) -> Callable[..., Any]:
    """Raises ValueError for what cannot be called with a context and a resource, or would give no result."""
    if not callable(reconcile) or isinstance(reconcile, type):
        raise ValueError("reconcile: expected a function of (ctx, resource)")
    if inspect.isgeneratorfunction(reconcile) or inspect.isasyncgenfunction(reconcile):
        raise ValueError("reconcile: expected a function that returns its result, and this one yields")
    try:
        inspect.signature(reconcile).bind(None, None)
    except TypeError as error:
        raise ValueError(f"reconcile: expected a function of (ctx, resource): {error}") from None
    return reconcile


def own_status(definition: Definition, given: Any) -> Document:
    """A status as JSON. Raises ValueError for what is neither the definition's model, a mapping nor None, and for one
    with the runtime's fields."""
    found = _as_json(definition, given)
    _check_own(found)
    return found


def _as_json(definition: Definition, given: Any) -> Document:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        given = dict(given) if definition.status is None else definition.status.model_validate(dict(given))
    if isinstance(given, BaseModel):
        return given.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(given, dict):
        return given
    raise ValueError(f"status: expected the definition's model or a mapping, got {type(given).__name__}")
