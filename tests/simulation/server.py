"""One life of the simulated server: the real store, manager, connections and facts, and a door for agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from api.agent_facts import AgentFacts, Welcomed
from api.agent_wire import Hello
from controllers.providers.agents import AgentDriver, Connections
from controllers.registry import CONTROLLERS
from controllers.runtime.manager import Manager
from resources.effect import Answer
from store.errors import StoreError
from tests.simulation.agent import HEARTBEAT_SECONDS
from tests.simulation.environment import Simulated
from tests.simulation.network import Ack, Beat, Result, Session
from tests.simulation.scheduler import SimSignal, Turn

if TYPE_CHECKING:
    from tests.simulation.world import World

HELLO_SECONDS = 10.0
QUIET_HEARTBEATS = 6
LOST = object()
"""No answer came: it may or may not have happened."""


class Promised:
    """A future on the virtual clock."""

    def __init__(self, signal: SimSignal) -> None:
        self._signal = signal
        self._answers: list[Answer] = []

    def set_result(self, answer: Answer, /) -> None:
        self._answers.append(answer)
        self._signal.set()

    def result(self, timeout: float | None = None, /) -> Answer:
        if not self._signal.wait(timeout):
            raise TimeoutError
        return self._answers[0]


class SimServer:
    """One life of the server process over the store that outlives it."""

    def __init__(self, world: World, life: int) -> None:
        self.world = world
        self.environment = Simulated(world.scheduler, f"server{life}")
        self.store = world.disk.store(self.environment)
        self.connections = Connections(lambda: Promised(self.environment.signal()))
        self.manager: Manager | None = None
        self.booted_at = world.scheduler.monotonic
        self._turns: dict[str, Turn] = {}
        self.environment.spawn("boot", self._boot)

    def _boot(self) -> None:
        """A task of the process: open, take over, run."""
        self.store.start()
        self.manager = Manager(
            self.store,
            self.environment,
            {controller.kind: controller for controller in CONTROLLERS},
            [AgentDriver(self.connections)],
            workers=3,
            effect_workers=3,
            together=2,
        )
        self.facts = AgentFacts(self.store)
        self.store.subscribe(self.world.watcher.heard)
        self.manager.start()
        self.world.server = self

    def stop(self) -> None:
        """A clean end, in the order of the product; runs as a task of the process."""
        assert self.manager is not None
        self.connections.close("the server stops")
        self.manager.stop()
        self.store.writer.stop()

    def accept(self, session: Session) -> None:
        self.environment.spawn(f"door-{session.agent.name}", lambda: self._serve(session))

    def call(self, work: Callable[[], Any], seconds: float) -> Any:
        """Run work inside this process for a caller outside; LOST when no answer came, or the error that did."""
        reply = self.world.scheduler.signal()
        answer: list[Any] = []

        def serve() -> None:
            try:
                answer.append(work())
            except StoreError as error:
                answer.append(error)
            reply.set()

        self.environment.spawn("call", serve)
        self.world.callers.append(reply)
        reply.wait(seconds)
        self.world.callers.remove(reply)
        return answer[0] if answer else LOST

    def _serve(self, session: Session) -> None:
        """One agent's stream, from Hello to its end."""
        name = session.agent.name
        hello = self._next(session, HELLO_SECONDS)
        if not isinstance(hello, Hello):
            session.leave_down()
            return
        turn = self._turns.setdefault(name, Turn(self.world.scheduler))
        try:
            with turn:
                if session.up.closed:
                    return
                welcome = self.facts.hello(self._sane(hello))
                if not isinstance(welcome, Welcomed):
                    session.leave_down()
                    return
                self.connections.register(name, session)
                session.send_down(welcome)
                self.facts.hurry(name)
            while (message := self._next(session, QUIET_HEARTBEATS * HEARTBEAT_SECONDS)) is not None:
                self._take(message, name, session)
        except StoreError:
            self.world.counts["store errors"] += 1
        session.leave_down()
        with turn:
            if self.connections.unregister(name, session):
                self._disconnected(name)

    def _sane(self, hello: Hello) -> Hello:
        now = self.environment.now()
        return replace(hello, instances=tuple(capped(one, now) for one in hello.instances))

    def _disconnected(self, name: str) -> None:
        try:
            self.facts.disconnected(name)
        except StoreError:
            self.world.counts["store errors"] += 1

    def _next(self, session: Session, seconds: float) -> object | None:
        end = session.up
        while not end.messages:
            if end.closed:
                return None
            end.bell.clear()
            if not end.bell.wait(seconds):
                return None
        return end.messages.popleft()

    def _take(self, message: object, name: str, session: Session) -> None:
        match message:
            case Beat():
                self.facts.heartbeats((name,))
                session.send_down(message)
            case (int(seq), instance):
                now = self.environment.now()
                end = self.facts.report(name, seq, capped(instance, now))
                session.send_down(Ack(seq))
                if end is not None:
                    session.deliver(end)
            case Result(effect=effect, answer=answer):
                if not self.connections.settle(name, effect, answer):
                    self.facts.hurry(name)


def capped(instance: Any, now: float) -> Any:
    """An instant ahead of the server's clock reads as now."""
    return instance.__class__(**{**vars(instance), **_capped(instance, now)})


def _capped(instance: Any, now: float) -> dict[str, float | None]:
    started, ready = instance.started_at, instance.ready_at
    return {
        "at": min(instance.at, now),
        "started_at": None if started is None else min(started, now),
        "ready_at": None if ready is None else min(ready, now),
    }
