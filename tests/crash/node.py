"""The agent of one node as a task of the server's own process: its memory is the file outside."""

from __future__ import annotations

from api.agent_facts import AgentFacts
from api.agent_wire import Hello
from controllers.providers.agent_commands import Command
from resources.effect import Answer, Deferred
from resources.facts import Inventory
from store import effects
from store.store import Store
from tests.crash.outside import Outside
from tests.simulation.scheduler import Scheduler

HEARTBEAT_SECONDS = 5.0
ON_THE_WAY_SECONDS = 0.05


class Nodes:
    """What the server sees as its connections; a command is on its way for a moment in each direction."""

    def __init__(self, store: Store, outside: Outside, scheduler: Scheduler) -> None:
        self._store = store
        self._outside = outside
        self._scheduler = scheduler
        self.agents: dict[str, Agent] = {}

    def connected(self, node: str) -> bool:
        return node in self.agents

    def unanswered(self, node: str, effect: str) -> bool:
        return False

    def send(self, node: str, command: Command, *, seconds: float = 20.0) -> Answer:
        agent = self.agents.get(node)
        if agent is None:
            return Deferred(f"{node} is not connected", 5.0)
        uid, _, key = command.effect.partition(":")
        with self._store.read() as tx:
            record = effects.find(tx, uid, key)
        if record is None or record.fingerprint != command.fingerprint:
            self._outside.unrecorded(command.effect)
        self._scheduler.sleep(ON_THE_WAY_SECONDS)
        answer = self._outside.carry_out(node, command, self._scheduler.now)
        agent.changed.set()
        self._scheduler.sleep(ON_THE_WAY_SECONDS)
        return answer


class Agent:
    """Dials, delivers what is in its outbox, beats."""

    def __init__(self, name: str, token: str, facts: AgentFacts, nodes: Nodes, outside: Outside, clock: Scheduler):
        self.name = name
        self.changed = clock.signal()
        self._token = token
        self._facts = facts
        self._nodes = nodes
        self._outside = outside
        self._clock = clock

    def run(self) -> None:
        seq = self._outside.last_seq()
        self._facts.hello(
            Hello(
                node=self.name,
                boot_id="boot-1",
                inventory=Inventory(4000, 4, 1024, address="10.0.0.1", zone=f"zone-{self.name}"),
                instances=self._outside.instances(self.name),
                credential=f"credential-of-{self.name}-that-is-long-enough-to-be-taken",
                join_token=self._token,
                report_seq=seq,
            )
        )
        self._outside.acknowledged(self.name, seq)
        self._nodes.agents[self.name] = self
        self._facts.hurry(self.name)
        beaten = self._clock.monotonic
        while True:
            self.changed.clear()
            due = self._outside.advance(self.name, self._clock.now)
            told = self._outside.next_report(self.name)
            since = self._clock.monotonic - beaten
            if told is not None:
                self._facts.report(self.name, *told)
                self._outside.acknowledged(self.name, told[0])
            elif since >= HEARTBEAT_SECONDS:
                beaten = self._clock.monotonic
                self._facts.heartbeats((self.name,))
            else:
                self.changed.wait(min(HEARTBEAT_SECONDS - since, HEARTBEAT_SECONDS if due is None else due))
