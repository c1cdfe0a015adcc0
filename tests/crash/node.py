"""The agent of one node as a task of the server's own process: its memory is the file outside."""

from __future__ import annotations

from collections import deque

from api.agent_facts import AgentFacts
from api.agent_wire import Hello
from controllers.providers.agent_commands import Command
from controllers.providers.agents import Connections
from resources.facts import Driver, Inventory
from store import effects
from store.store import Store
from tests.crash.outside import Outside
from tests.simulation.scheduler import Scheduler

HEARTBEAT_SECONDS = 5.0
ON_THE_WAY_SECONDS = 0.05


class Agent:
    """Dials, carries out what it is told, delivers what is in its outbox, beats."""

    def __init__(self, name: str, store: Store, connections: Connections, outside: Outside, clock: Scheduler) -> None:
        self.name = name
        self._store = store
        self._connections = connections
        self._outside = outside
        self._clock = clock
        self._changed = clock.signal()
        self._commands: deque[Command] = deque()

    def deliver(self, command: Command) -> None:
        self._commands.append(command)
        self._changed.set()

    def close(self, reason: str) -> None:
        """Its server never ends in peace."""

    def run(self, facts: AgentFacts, token: str) -> None:
        self._greet(facts, token)
        beaten = self._clock.monotonic
        while True:
            self._changed.clear()
            due = self._outside.advance(self.name, self._clock.now)
            told = self._outside.next_report(self.name)
            since = self._clock.monotonic - beaten
            if self._commands:
                self._carry_out(self._commands.popleft(), facts)
            elif told is not None:
                end = facts.report(self.name, *told)
                self._outside.acknowledged(self.name, told[0])
                if end is not None:
                    self.deliver(end)
            elif since >= HEARTBEAT_SECONDS:
                beaten = self._clock.monotonic
                facts.heartbeats((self.name,))
            else:
                self._changed.wait(min(HEARTBEAT_SECONDS - since, HEARTBEAT_SECONDS if due is None else due))

    def _greet(self, facts: AgentFacts, token: str) -> None:
        seq = self._outside.last_seq()
        facts.hello(
            Hello(
                node=self.name,
                boot_id="boot-1",
                inventory=Inventory(
                    4000, 4, 1024, address="10.0.0.1", zone=f"zone-{self.name}", drivers=(Driver("process"),)
                ),
                instances=self._outside.instances(self.name),
                credential=f"credential-of-{self.name}-that-is-long-enough-to-be-taken",
                join_token=token,
                report_seq=seq,
            )
        )
        self._outside.acknowledged(self.name, seq)
        self._connections.register(self.name, self)
        facts.hurry(self.name)

    def _carry_out(self, command: Command, facts: AgentFacts) -> None:
        """A command and its answer are on their way for a moment each."""
        uid, _, key = command.effect.partition(":")
        with self._store.read() as tx:
            record = effects.find(tx, uid, key)
        if record is None or record.fingerprint != command.fingerprint:
            self._outside.unrecorded(command.effect)
        self._clock.sleep(ON_THE_WAY_SECONDS)
        answer = self._outside.carry_out(self.name, command, self._clock.now)
        self._clock.sleep(ON_THE_WAY_SECONDS)
        if not self._connections.settle(self.name, command.effect, answer):
            facts.hurry(self.name)
