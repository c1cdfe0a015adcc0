"""What the HTTP API is built from: handed in by whoever composes the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from controllers.providers.agent_commands import ExecJob
from resources.bundle import Bundle
from resources.canonical import Document
from resources.effect import Answer
from resources.facts import Instance
from resources.job import Job
from resources.reference import Ref
from resources.reservation import Reservation
from resources.shape import Shape
from store.secret_files import SecretFiles
from store.store import Store
from store.tx import Tx


@dataclass(frozen=True)
class ServerInfo:
    """What `rmctl server status` shows. `started_at` in unix seconds; `listeners` as people write addresses."""

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


class Explanation(Protocol):
    """Why a job waits: a sentence, (node, answer) pairs, and what the placer confirmed would help."""

    @property
    def sentence(self) -> str: ...
    @property
    def nodes(self) -> Sequence[tuple[str, str]]: ...
    @property
    def would_fit(self) -> Sequence[str]: ...


class Preview(Protocol):
    """Where one job would go now. `node` None: nowhere, and the sentence says why."""

    @property
    def job(self) -> str: ...
    @property
    def node(self) -> str | None: ...
    @property
    def tier(self) -> str | None: ...
    @property
    def sentence(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def would_fit(self) -> Sequence[str]: ...
    @property
    def tree(self) -> str: ...
    @property
    def missing(self) -> Sequence[str]: ...
    @property
    def reservation(self) -> str | None: ...
    @property
    def drawn(self) -> Sequence[str]: ...


class Replay(Protocol):
    """`equal` None: it cannot be told any more, and `reason` says why."""

    @property
    def equal(self) -> bool | None: ...
    @property
    def decided(self) -> Document: ...
    @property
    def replayed(self) -> Document: ...
    @property
    def reason(self) -> str: ...


class Signed(Protocol):
    """A key and its certificate as PEM; `der` is the certificate alone."""

    @property
    def key(self) -> bytes: ...
    @property
    def certificate(self) -> bytes: ...
    @property
    def der(self) -> bytes: ...


class Authority(Protocol):
    """The CA behind the listeners. `digest` is the SHA-256 of its certificate, in hex."""

    @property
    def pem(self) -> bytes: ...
    @property
    def digest(self) -> str: ...
    def certify(self, name: str, role: str, seconds: float) -> Signed: ...


Explainer = Callable[[Tx, Job], Explanation | None]
"""Asks the pure placer about a job as it stands, against the present fleet; None where there is nothing to explain."""
Executor = Callable[[str, ExecJob, float], Answer]
"""(node, command, seconds) to what came of it; blocks until the node has answered, or the seconds are over."""
Scratch = Callable[[], object]
"""A view of the fleet on which previews of one request take their room, one after the other."""
Planner = Callable[[Tx, Bundle, bool, object], Sequence[Preview]]
"""Asks the pure placer where the jobs of a bundle would go, with its whole trace or not; the bundle need not be
stored."""
Replayer = Callable[[Tx, int], "Replay | None"]
"""A decision made again, by the id of its event."""
Foreseer = Callable[[Tx, Reservation, object], Document]
"""Where a reservation would be booked now: {fits, candidates, reason}."""


def _done() -> None:
    return None


def _nothing(_tx: Tx, _job: Job) -> Explanation | None:
    return None


def _no_replay(_tx: Tx, _event: int) -> Replay | None:
    return None


def _unforeseen(_tx: Tx, _reservation: Reservation, _scratch: object) -> Document:
    return {}


def _nowhere(_tx: Tx, _bundle: Bundle, _traced: bool, _scratch: object) -> Sequence[Preview]:
    return ()


def _no_gauges() -> Mapping[str, float]:
    return {}


@dataclass(frozen=True)
class Services:
    """`tokens` are the bearer tokens that listeners accept; the unix socket needs none. `stop` ends the server."""

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
    scratch: Scratch = object
    plan: Planner = _nowhere
    criteria: Sequence[str] = ()
    """What the rankings of pools may name."""
    foresee: Foreseer = _unforeseen
    replay: Replayer = _no_replay
    recheck_seconds: float = 30.0
    """How long a stream goes on before its caller's token is looked at again."""
    hosts: tuple[str, ...] = ()
    """Names under which the listeners may be asked for pages, beside those of loopback."""
    authority: Authority | None = None
    """Signs client certificates, where there is a listener with TLS."""
    counters: Callable[[], Mapping[str, float]] = _no_gauges
    """Counters of the runtime by metric name, for `/metrics`."""
    resumed: Callable[[], None] = _done
    """Called when effects may begin again: nodes are asked anew for what they run."""
    strays: Callable[[], Sequence[Instance]] = tuple
    """Instances that nodes told of and nobody knows, while effects are held."""
    secrets: SecretFiles | None = None
    """Where the values of secrets are kept; None where this server keeps none."""
    lend: Callable[[Ref, Path, Path], None] | None = None
    """Lets passes of a kind in a project run behind a socket of this machine, whose owner works on this file of it.
    Raises Undefined, NotLent."""
    shape: Callable[[Ref], Shape] | None = None
    """Asks the file behind a kind in a project for its models. Raises Undefined."""
    shapes: Callable[[], Sequence[Shape]] = tuple
    """Of every kind that has one file for all projects, where that file answers."""
    execute: Executor | None = None
    """Runs one command beside a job; blocks until it has ended."""
