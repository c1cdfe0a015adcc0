"""What the HTTP API is built from: handed in by whoever composes the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from resources.canonical import Document
from resources.resource import Resource
from store.store import Store
from store.tx import Tx


@dataclass(frozen=True)
class ServerInfo:
    """What `rmctl server status` shows. `started_at` is unix seconds; `listeners` are addresses as people write them."""

    version: str
    pid: int
    data: str
    started_at: float
    listeners: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Caller:
    """Who asks. The socket's owner is an admin; a listener's callers are who their token says."""

    name: str
    role: str = "admin"


@dataclass(frozen=True)
class Explanation:
    """Why a job waits: one sentence, what each node answers, and what the placer confirmed would help."""

    sentence: str
    nodes: tuple[tuple[str, str], ...] = ()
    """(node, answer)"""
    would_fit: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preview:
    """Where one job would go now. `node` None: nowhere, and the sentence says why."""

    job: str
    node: str | None
    tier: str | None
    sentence: str


class Explainer(Protocol):
    """Asks the pure placer about a job as it stands, against the present fleet."""

    def __call__(self, tx: Tx, job: Resource[Any, Any]) -> Explanation | None: ...


class Planner(Protocol):
    """Asks the pure placer where the jobs of a bundle would go; the bundle need not be stored."""

    def __call__(self, tx: Tx, bundle: Resource[Any, Any]) -> Sequence[Preview]: ...


def _nothing(_tx: Tx, _resource: Resource[Any, Any]) -> None:
    return None


def _nowhere(_tx: Tx, _resource: Resource[Any, Any]) -> Sequence[Preview]:
    return ()


def _no_gauges() -> Mapping[str, float]:
    return {}


@dataclass(frozen=True)
class Services:
    """`tokens` are the bearer tokens that listeners accept; the unix socket needs none. `stop` asks the server to end."""

    store: Store
    now: Callable[[], float]
    """unix seconds"""
    server: ServerInfo
    stop: Callable[[], None]
    ready: Callable[[], bool] = lambda: True
    token: Callable[[], str] = lambda: ""
    """A fresh unguessable text: what a join token is."""
    tokens: Mapping[str, Caller] = field(default_factory=dict)
    explain: Explainer = _nothing
    plan: Planner = _nowhere
    counters: Callable[[], Mapping[str, float]] = _no_gauges
    """Counters of the runtime by metric name, for `/metrics`."""
    agents_address: Callable[[], Document] = dict
    """What a node needs to find the agents' door: `{"address": …}`."""
