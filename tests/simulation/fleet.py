"""A simulated fleet: nodes with agents that journal their commands, lose their connections, and die."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from api.agent_facts import Welcomed
from api.agent_wire import Hello
from controllers.providers.agent_commands import Command, StartJob, StopJob
from resources.effect import Answer, Applied, Deferred, Rejected, Unknown
from resources.facts import Instance, Inventory
from tests.simulation.environment import Simulated

if TYPE_CHECKING:
    from tests.simulation.world import World

HEARTBEAT_SECONDS = 5.0
READY_SECONDS = 1.0
CALL_SECONDS = 8.0
CAPACITY_MILLI = 4000


@dataclass
class Process:
    """One job instance on a node, as it really is."""

    instance: Instance
    command: StartJob
    began: float
    connected_until: float

    @property
    def alive(self) -> bool:
        return self.instance.state != "exited"


class SimNode:
    """A machine and its agent. `reachable` is the network, `up` the machine, `agent` the process that speaks."""

    def __init__(self, world: World, name: str, zone: str, capabilities: tuple[str, ...] = ()) -> None:
        self.world = world
        self.name = name
        self.inventory = Inventory(
            CAPACITY_MILLI, 4, 1024, address=f"10.0.0.{ord(name[-1])}", zone=zone, capabilities=capabilities
        )
        self.boot = 1
        self.token = world.join(name)
        self.credential = f"credential-of-{name}-that-is-long-enough-to-be-taken"
        self.up = True
        self.reachable = True
        self.processes: dict[str, Process] = {}
        self.journal: dict[str, tuple[str, Answer]] = {}
        self.seq = 0
        self.acked = 0
        self.outbox: list[tuple[int, Instance]] = []
        self.session: object = None
        """The server that the agent is connected to."""
        self.acked_heartbeat = 0.0
        self.changed = world.scheduler.signal()
        self.environment = Simulated(world.scheduler, name)
        self._spawn()

    def _spawn(self) -> None:
        self.environment.spawn("agent", self._agent)

    def alive(self) -> list[Process]:
        return [process for process in self.processes.values() if process.alive]

    def reboot(self) -> None:
        """Everything on it ends, the journal too; it comes back with another boot id."""
        self.world.scheduler.kill(self.environment)
        self.processes.clear()
        self.journal.clear()
        self.outbox.clear()
        self.seq = self.acked = 0
        self.session = None
        self.boot += 1
        self.environment = Simulated(self.world.scheduler, f"{self.name}'")
        self._spawn()

    def restart_agent(self) -> None:
        """kill -9 of the agent: its jobs live on, its journal is read again."""
        self.world.scheduler.kill(self.environment)
        self.session = None
        self.environment = Simulated(self.world.scheduler, f"{self.name}'")
        self._spawn()

    def end(self, instance: str, *, code: int | None = None, signal: int | None = None, reason: str = "") -> None:
        """An instance ends, by itself or by our hand."""
        process = self.processes[instance]
        if process.alive:
            ran = self.world.scheduler.monotonic - process.began
            self._become(process, state="exited", code=code, signal=signal, reason=reason, ran_seconds=ran)

    def carry_out(self, command: Command) -> Answer:
        """Once per effect, however often it is sent; another request under the same id is refused."""
        known = self.journal.get(command.effect)
        if known is not None:
            return (
                known[1] if known[0] == command.fingerprint else Rejected("another request", "JOB_REJECTED_DUPLICATE")
            )
        answer = self._start(command) if isinstance(command, StartJob) else self._stop(command)
        self.journal[command.effect] = (command.fingerprint, answer)
        return answer

    def _start(self, command: StartJob) -> Answer:
        self.world.starts[command.effect] = self.world.starts.get(command.effect, 0) + 1
        if "invalid" in command.spec.parameters:
            return Rejected("the spec makes no sense", "JOB_REJECTED_INVALID_SPEC")
        used = sum(process.command.capacity_milli for process in self.alive())
        if used + command.capacity_milli > CAPACITY_MILLI:
            return Rejected("no room", "JOB_REJECTED_NO_CAPACITY")
        now = self.world.scheduler.now
        instance = Instance(
            uid=command.job_uid,
            id=command.instance,
            key=command.instance_key,
            node=self.name,
            attempt=command.attempt,
            state="running",
            pid=self.world.next_pid(),
            started_at=now,
            at=now,
            job=command.job,
        )
        self.processes[command.instance] = Process(instance, command, self.world.scheduler.monotonic, now)
        self._report(instance)
        self.environment.spawn(f"life-{command.instance[-6:]}", lambda: self._live(command.instance))
        return Applied(command.instance)

    def _stop(self, command: Command) -> Answer:
        assert isinstance(command, StopJob)
        process = self.processes.get(command.instance)
        if process is not None and process.alive:
            self._become(process, state="stopping")
            self.environment.spawn(f"stop-{command.instance[-6:]}", lambda: self._wind_down(command.instance))
        return Applied(command.instance)

    def _wind_down(self, instance: str) -> None:
        self.world.scheduler.sleep(self.environment.random().choice([0.0, 0.2, 3.0]))
        self.end(instance, signal=15, reason="stopped")

    def _live(self, instance: str) -> None:
        process = self.processes[instance]
        self.world.scheduler.sleep(READY_SECONDS)
        if process.instance.state == "running":
            self._become(process, state="ready", ready_at=self.world.scheduler.now)
        script = process.command.spec.parameters
        if "exits" in script and process.alive:
            self.world.scheduler.sleep(float(script["exits"]))
            code = int(script.get("code", 1))
            if process.alive:
                self.end(instance, code=code, reason=f"exit {code}")

    def _become(self, process: Process, **changes: Any) -> None:
        process.instance = replace(process.instance, at=self.world.scheduler.now, **changes)
        self._report(process.instance)

    def _report(self, instance: Instance) -> None:
        self.seq += 1
        self.outbox.append((self.seq, instance))
        self.changed.set()

    def _agent(self) -> None:
        """Dial, say hello, deliver, beat; again after every loss."""
        for instance in [p.instance.id for p in self.alive()]:
            self._adopt(instance)
        while True:
            if self.up and self.reachable and self.world.server is not None:
                self._serve(self.world.server)
            self.session = None
            self.world.scheduler.sleep(self.environment.random().uniform(0.1, 2.0))

    def _adopt(self, instance: str) -> None:
        process = self.processes[instance]
        if process.instance.state == "stopping":
            self.environment.spawn(f"stop-{instance[-6:]}", lambda: self._wind_down(instance))
        else:
            self.environment.spawn(f"life-{instance[-6:]}", lambda: self._live(instance))

    def _serve(self, server: Any) -> None:
        seq = self.seq
        hello = Hello(
            node=self.name,
            boot_id=f"boot-{self.boot}",
            inventory=self.inventory,
            instances=tuple(p.instance for p in self.processes.values()),
            credential=self.credential,
            join_token=self.token,
            report_seq=seq,
        )
        welcome = server.call(lambda: server.facts.hello(hello), CALL_SECONDS)
        if not isinstance(welcome, Welcomed):
            return
        self.outbox = [entry for entry in self.outbox if entry[0] > seq]
        self.session = server
        server.connections.up(self)
        server.call(lambda: server.facts.hurry(self.name), CALL_SECONDS)
        for instance in welcome.superseded:
            process = self.processes.get(instance)
            if process is not None and process.alive:
                self._become(process, state="stopping")
                self.environment.spawn(f"stop-{instance[-6:]}", lambda instance=instance: self._wind_down(instance))
        beaten = self.world.scheduler.monotonic
        while self._connected(server):
            self.changed.clear()
            if self.outbox:
                number, report = self.outbox[0]
                if server.call(lambda: server.facts.report(self.name, number, report), CALL_SECONDS) is LOST:  # noqa: B023
                    break
                self.outbox = [entry for entry in self.outbox if entry[0] > number]
                continue
            if self.world.scheduler.monotonic - beaten >= HEARTBEAT_SECONDS:
                beaten = self.world.scheduler.monotonic
                if server.call(lambda: server.facts.heartbeats((self.name,)), CALL_SECONDS) is LOST:
                    break
                continue
            self.changed.wait(max(HEARTBEAT_SECONDS - (self.world.scheduler.monotonic - beaten), 0.1))
        server.connections.down(self)
        self.session = None
        if self.world.server is server:
            server.call(lambda: server.facts.disconnected(self.name), CALL_SECONDS)

    def _connected(self, server: Any) -> bool:
        return self.up and self.reachable and self.world.server is server


LOST = object()
"""No answer came: it may or may not have happened."""


class SimConnections:
    """The server's side of the streams, with a network that loses, delays and repeats."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._nodes: dict[str, SimNode] = {}

    def up(self, node: SimNode) -> None:
        self._nodes[node.name] = node

    def down(self, node: SimNode) -> None:
        self._nodes.pop(node.name, None)

    def connected(self, node: str) -> bool:
        return node in self._nodes

    def unanswered(self, node: str, effect: str) -> bool:
        return False

    def send(self, node: str, command: Command, *, seconds: float = 20.0) -> Answer:
        world = self._world
        world.check_recorded(command)
        target = self._nodes.get(node)
        if target is None or not target.reachable or not target.up:
            return Deferred(f"{node} is not connected", 5.0)
        world.scheduler.sleep(world.random.random() * 0.3)
        fault = world.fault()
        if fault == "before":
            return Unknown("the stream ended before the answer came")
        if fault == "slow":
            world.scheduler.sleep(world.random.choice([5.0, 30.0, 90.0]))
        if not target.reachable or not target.up:
            return Unknown("the stream ended before the answer came")
        answer = target.carry_out(command)
        if fault == "after":
            return Unknown("the stream ended before the answer came")
        world.scheduler.sleep(world.random.random() * 0.1)
        return answer


def guarded(call: Callable[[], Any]) -> Any:
    """What an agent's call gives; a server that goes down meanwhile gives nothing."""
    with contextlib.suppress(ConnectionError):
        return call()
    return LOST
