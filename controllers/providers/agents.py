"""Nodes as a provider: who is connected, and the driver that starts and stops jobs through them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Protocol

from controllers.fences import over
from controllers.providers.agent_commands import Command, begin_of, start_of, stop_of
from controllers.runtime.controller import Reader
from controllers.runtime.driver import Safety
from resources.effect import Absent, Answer, Applied, Deferred, EffectRecord, Observation, Rejected, Unknown
from resources.facts import Instance
from resources.job import Job
from resources.reference import Ref

START, STOP = "StartJob", "StopJob"
PREPARE, BEGIN = "PrepareJob", "StartPreparedJob"
"""The start in two steps: room and ports are held from the first, the process is there from the second."""
ANSWER_SECONDS = 20.0
ABSENT_SECONDS = 5.0
"""How long a node that is not connected is left alone; its return hurries what waits for it."""
SECRET_SECONDS = 5.0
"""How long a start waits before it looks again for a secret that is not there."""
BEYOND: Mapping[str, frozenset[str]] = {
    START: frozenset({"starting"}),
    PREPARE: frozenset(),
    BEGIN: frozenset({"prepared", "starting"}),
}
"""States of an instance in which what an effect asked for has not happened yet."""
ENDING = frozenset({"stopping", "exited"})
ENDED = frozenset({"terminated", "released"})
"""Phases of a node that is there no more."""

Secrets = Callable[[str, str, str], str | None]
"""(project, secret, key) to value."""


class Promise(Protocol):
    """An answer that is waited for. `result` raises TimeoutError after so many seconds without one."""

    def set_result(self, answer: Answer, /) -> None: ...
    def result(self, timeout: float | None = None, /) -> Answer: ...


class Stream(Protocol):
    """An open stream to one node. Both calls come from any thread and do not wait."""

    def deliver(self, command: Command) -> None: ...
    def close(self, reason: str) -> None: ...


class Connections:
    """The streams that are open, and who waits for an answer on them. Safe from every thread."""

    def __init__(self, promise: Callable[[], Promise] = Future) -> None:
        self._promise = promise
        self._lock = threading.Lock()
        self._streams: dict[str, Stream] = {}
        self._waiting: dict[tuple[str, str], Promise] = {}
        self._unanswered: dict[str, set[str]] = {}
        self._returning: set[str] = set()

    def register(self, node: str, stream: Stream) -> None:
        """From here on commands for this node take this stream; an older one is closed."""
        with self._lock:
            older = self._streams.get(node)
            self._returning.discard(node)
            self._streams[node] = stream
            lost = self._drop_waiting(node)
        if older is not None:
            older.close("the node has connected again")
        _fail(lost)

    def unregister(self, node: str, stream: Stream) -> bool:
        """True when this stream was the node's; nobody is left waiting for it."""
        with self._lock:
            if self._streams.get(node) is not stream:
                return False
            del self._streams[node]
            lost = self._drop_waiting(node)
        _fail(lost)
        return True

    def connected(self, node: str) -> bool:
        with self._lock:
            return node in self._streams

    def nodes(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._streams)

    def unanswered(self, node: str, effect: str) -> bool:
        """Sent on the stream that is open now, and neither answered nor reported."""
        with self._lock:
            return effect in self._unanswered.get(node, ())

    def send(self, node: str, command: Command, *, seconds: float = ANSWER_SECONDS) -> Answer:
        """Blocks until the node answers, the stream ends, or the time is over."""
        answer = self._promise()
        key = (node, command.effect)
        with self._lock:
            stream = self._streams.get(node)
            if node in self._returning:
                return Deferred(f"{node} is connecting again", ABSENT_SECONDS)
            if stream is None:
                return Deferred(f"{node} is not connected", ABSENT_SECONDS)
            if key in self._waiting:
                return Unknown("it is being asked for already")
            self._waiting[key] = answer
            self._unanswered.setdefault(node, set()).add(command.effect)
            stream.deliver(command)
        try:
            return answer.result(seconds)
        except TimeoutError:
            return Unknown(f"{node} has not answered within {seconds:g} s")
        finally:
            with self._lock:
                if self._waiting.get(key) is answer:
                    del self._waiting[key]

    def tell(self, node: str, command: Command) -> None:
        """Down the node's stream if it has one; nobody waits for what comes of it."""
        with self._lock:
            stream = self._streams.get(node)
        if stream is not None:
            stream.deliver(command)

    def settle(self, node: str, effect: str, answer: Answer) -> bool:
        """A node's answer; False when nobody waits for it any more."""
        with self._lock:
            self._unanswered.get(node, set()).discard(effect)
            waiting = self._waiting.pop((node, effect), None)
        if waiting is None:
            return False
        waiting.set_result(answer)
        return True

    def close(self, reason: str) -> None:
        """End every stream: the server stops, or every node is to connect again. Nothing goes down them any more."""
        with self._lock:
            streams = list(self._streams.values())
            self._returning |= self._streams.keys()
        for stream in streams:
            stream.close(reason)

    def _drop_waiting(self, node: str) -> list[Promise]:
        self._unanswered.pop(node, None)
        return [self._waiting.pop(key) for key in list(self._waiting) if key[0] == node]


def _fail(lost: list[Promise]) -> None:
    for answer in lost:
        answer.set_result(Unknown("the stream ended before the answer came"))


class AgentDriver:
    """Starts and stops jobs. What is known of them is what their agents told the store."""

    provider = "agents"
    creates = frozenset({START, PREPARE, BEGIN})
    safe: Mapping[str, Safety] = MappingProxyType(dict.fromkeys((START, PREPARE, BEGIN, STOP), "token"))
    """A node journals every command by the effect's id, and answers again what it answered before."""

    def __init__(
        self, connections: Connections, *, secrets: Secrets | None = None, seconds: float = ANSWER_SECONDS
    ) -> None:
        self._connections = connections
        self._secrets = secrets
        self._seconds = seconds

    def observe(self, effect: EffectRecord, reader: Reader) -> Observation:
        """From what the node told; unknown while it is silent, absent once it is lost or gone and may be given up."""
        found = _instance(effect, reader)
        if effect.kind in BEYOND and found is not None and found.state not in BEYOND[effect.kind]:
            return Applied(found.id, _about(found))
        if effect.kind == STOP and found is not None and found.state in ENDING:
            return Applied(found.id)
        if not self._connections.connected(effect.target):
            return Absent() if _given_up(effect, reader) else Unknown(f"{effect.target} is silent")
        if self._connections.unanswered(effect.target, effect.id):
            return Unknown(f"{effect.target} has not answered yet")
        if effect.kind == STOP and found is None:
            return Applied(effect.request["instance"])
        at_it = found is not None and (effect.kind == START or found.state == "starting")
        return Unknown(f"{effect.target} is at it") if at_it and effect.kind != STOP else Absent()

    def apply(self, effect: EffectRecord) -> Answer:
        """One command down the node's stream; the node carries it out once, however often it is sent."""
        try:
            match effect.kind:
                case "StartJob" | "PrepareJob":
                    secrets = self._secret_values(effect)
                    if isinstance(secrets, Deferred):
                        return secrets
                    command: Command = start_of(effect, secrets, prepare=effect.kind == PREPARE)
                case "StartPreparedJob":
                    command = begin_of(effect)
                case "StopJob":
                    command = stop_of(effect)
                case other:
                    return Rejected(f"agents know no effect {other}", "UNSUPPORTED")
        except (KeyError, ValueError) as error:
            return Rejected(f"the request cannot be read: {error}", "JOB_REJECTED_INVALID_SPEC")
        answer = self._connections.send(effect.target, command, seconds=self._seconds)
        return Applied(effect.request["instance"], answer.detail) if isinstance(answer, Applied) else answer

    def _secret_values(self, effect: EffectRecord) -> dict[str, str] | Deferred:
        values = {}
        for name, where in effect.request["spec"].get("secretEnv", {}).items():
            project, secret, key = effect.request["project"], where["secret"], where["key"]
            value = self._secrets(project, secret, key) if self._secrets is not None else None
            if value is None:
                said = f"secretEnv.{name}: secret {secret} has no key {key}: rmctl secret set {secret} {key}"
                return Deferred(said, SECRET_SECONDS)
            values[name] = value
        return values


def _given_up(effect: EffectRecord, reader: Reader) -> bool:
    """Whether what a node that is away did with it counts no more: a job may promise that there are never two."""
    node = reader.find(Ref("node", effect.target))
    if node is None or node.status.phase != "lost":
        return node is None or node.status.phase in ENDED
    job = reader.find(effect.owner)
    start = effect if effect.kind == START else None
    runs = effect.kind in (START, BEGIN)
    waits = runs and isinstance(job, Job) and not over(job.spec.on_disconnect, start)
    return not waits or node.status.given_up


def _instance(effect: EffectRecord, reader: Reader) -> Instance | None:
    wanted = effect.request["instance"]
    return next((found for found in reader.instances(uid=effect.uid) if found.id == wanted), None)


def _about(found: Instance) -> dict[str, int]:
    return {} if found.pid is None else {"pid": found.pid}
