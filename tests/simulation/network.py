"""The network between a node and the server: links that are cut, and streams that carry messages late or not at all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controllers.providers.agent_commands import Command
from resources.effect import Answer
from tests.simulation.scheduler import Scheduler

if TYPE_CHECKING:
    from tests.simulation.agent import SimAgent
    from tests.simulation.server import SimServer


@dataclass(frozen=True)
class Beat:
    """A heartbeat, or its acknowledgement."""

    seq: int


@dataclass(frozen=True)
class Ack:
    """Reports up to `seq` are stored."""

    seq: int


@dataclass(frozen=True)
class Result:
    """An agent's answer to a command."""

    effect: str
    answer: Answer


class Way:
    """One direction of a link. While it is cut, what is under way waits, as TCP lets it; nothing overtakes."""

    def __init__(self, scheduler: Scheduler, latency: float) -> None:
        self.latency = latency
        self.open = True
        self._scheduler = scheduler
        self._held: list[Callable[[], None]] = []
        self._last = 0.0

    def carry(self, deliver: Callable[[], None]) -> None:
        self._last = max(self._last, self._scheduler.monotonic + self.latency)
        self._scheduler.later(self._last - self._scheduler.monotonic, lambda: self._arrive(deliver))

    def mend(self) -> None:
        self.open = True
        held, self._held = self._held, []
        for deliver in held:
            deliver()

    def _arrive(self, deliver: Callable[[], None]) -> None:
        if self.open:
            deliver()
        else:
            self._held.append(deliver)


class Link:
    """The way between one node and the server, up and down."""

    def __init__(self, scheduler: Scheduler, latency: float) -> None:
        self._latency = latency
        self.up = Way(scheduler, latency)
        self.down = Way(scheduler, latency)

    @property
    def open(self) -> bool:
        return self.up.open and self.down.open

    def cut(self) -> None:
        self.up.open = self.down.open = False

    def mend(self) -> None:
        for way in (self.up, self.down):
            way.latency = self._latency
            way.mend()


class End:
    """One end of a stream: what has come in, and whether the stream is over for this side."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.messages: deque[object] = deque()
        self.closed = False
        self.bell = scheduler.signal()

    def put(self, message: object) -> None:
        if not self.closed:
            self.messages.append(message)
            self.bell.set()

    def close(self) -> None:
        self.closed = True
        self.bell.set()


class Session:
    """One stream. Messages keep their order each way; an end that closes is heard of by the other when the link lets
    it.
    """

    def __init__(self, link: Link, agent: SimAgent, server: SimServer) -> None:
        self.agent = agent
        self.server = server
        self._link = link
        self.up = End(server.world.scheduler)
        """Read by the server."""
        self.down = End(server.world.scheduler)
        """Read by the agent."""

    def send_up(self, message: object) -> None:
        self._link.up.carry(lambda: self.up.put(message))

    def send_down(self, message: object) -> None:
        self._link.down.carry(lambda: self.down.put(message))

    def leave_up(self) -> None:
        """The agent ends it."""
        self.down.closed = True
        self._link.up.carry(self.up.close)

    def leave_down(self) -> None:
        """The server ends it."""
        self.up.closed = True
        self._link.down.carry(self.down.close)

    def tear(self) -> None:
        """The connection breaks for both, with whatever was under way."""
        self.up.close()
        self.down.close()

    def deliver(self, command: Command) -> None:
        self.send_down(command)

    def close(self, reason: str) -> None:
        self.leave_down()
