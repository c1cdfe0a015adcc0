"""A simulated agent: it journals what it is told, reports until it is acknowledged, and comes back after every loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.errors import CANCELLED, INVALID_SPEC, NO_CAPACITY, OTHER_FINGERPRINT, PORT_TAKEN
from agent.heartbeats import Heartbeats
from agent.supervisor import RETRY_SECONDS
from api.agent_facts import Welcomed
from api.agent_wire import Hello
from controllers.providers.agent_commands import Command, StartJob, StopJob
from resources.effect import Answer, Applied, Deferred, Rejected
from resources.facts import Driver, Instance, Inventory
from tests.simulation.environment import Simulated
from tests.simulation.machine import Machine, Process
from tests.simulation.network import Ack, Beat, Link, Result, Session
from tests.simulation.scheduler import Turn

if TYPE_CHECKING:
    from tests.simulation.world import World

HEARTBEAT_SECONDS = 5.0
MISSED_HEARTBEATS = 3
WELCOME_SECONDS = 10.0
SETTLING_SECONDS = 5.0
SUPERSEDED_GRACE_SECONDS = 4.0
STOPS_SECONDS = (0.0, 0.2, 3.0)
"""How long instances take to end when they are asked to."""
CAPACITY_MILLI = 4000


class SimAgent:
    """A node as a whole: its machine, its link, and the agent process between them."""

    def __init__(self, world: World, name: str, zone: str, latency: float) -> None:
        self.world = world
        self.name = name
        address, drivers = f"10.0.0.{ord(name[-1])}", (Driver("process"),)
        self.inventory = Inventory(CAPACITY_MILLI, 4, 1024, address=address, zone=zone, drivers=drivers)
        self.token = f"join-{name}"
        self.credential = f"credential-of-{name}-that-is-long-enough-to-be-taken"
        self.link = Link(world.scheduler, latency)
        self.machine = Machine(world, name, self._changed)
        self.lies = False
        self.joined = False
        self.session: Session | None = None
        self.connected_at: float | None = None
        """Since when the server and it agree that they are connected, on the monotonic clock."""
        self.slow_until = 0.0
        self._journal: dict[str, tuple[str, Answer | None]] = {}
        self._stopped: set[str] = set()
        self._reports: dict[int, Instance] = {}
        self._last = 0
        self._started = 0
        self.start()

    def start(self) -> None:
        """The agent process begins: it takes up what an earlier one left."""
        self._started += 1
        self.environment = Simulated(self.world.scheduler, self.name + "'" * (self._started > 1))
        self._results: list[Result] = []
        self._open = 0
        self._bell = self.world.scheduler.signal()
        self._up = True
        self._turns: dict[str, Turn] = {}
        for process in list(self.machine.processes.values()):
            if process.facts.state == "starting":
                del self.machine.processes[process.facts.id]
                self.world.watcher.ended(process)
        for process in self.machine.processes.values():
            if process.alive or not process.told:
                self._report(process.facts)
        self.environment.spawn("agent", self._run)

    def connected_for(self) -> float:
        """Seconds since its server welcomed it."""
        return 0.0 if self.connected_at is None else self.world.scheduler.monotonic - self.connected_at

    @property
    def up(self) -> bool:
        """Whether the agent process lives."""
        return self._up

    def kill(self) -> None:
        """kill -9: what runs lives on, and what it wrote down stays."""
        self._up = False
        self.world.scheduler.kill(self.environment)
        if self.session is not None:
            self.session.leave_up()
        self._gone()

    def reboot(self, *, wiped: bool) -> None:
        """The machine goes down with all that runs on it. `wiped`: the agent's folder did not survive either."""
        self.kill()
        self.machine.reboot()
        if wiped:
            self._journal.clear()
            self._stopped.clear()
            self._reports.clear()
            self.machine.processes.clear()
            self._last = 0

    def _gone(self) -> None:
        self.session = None
        self.connected_at = None

    def _changed(self, process: Process) -> None:
        if self._up:
            self._report(process.facts)

    def _report(self, facts: Instance) -> None:
        self._last += 1
        self._reports[self._last] = facts
        self._bell.set()

    # the process

    def _run(self) -> None:
        scheduler = self.world.scheduler
        pause = 0.5
        while True:
            settling = scheduler.monotonic + SETTLING_SECONDS
            while self._open and scheduler.monotonic < settling:
                scheduler.sleep(0.2)
            if self.link.open and self.world.server is not None:
                self.session = Session(self.link, self, self.world.server)
                self.world.server.accept(self.session)
                if self._converse(self.session):
                    pause = 0.5
                self.session.leave_up()
                self._gone()
            scheduler.sleep(self.environment.random().uniform(0.05, pause))
            pause = min(pause * 2, 5.0)

    def _hello(self) -> Hello:
        kept = [p.facts for p in self.machine.processes.values() if p.alive or not p.told]
        inventory = self.inventory
        if self.lies and self.joined:
            kept = [*kept, *self.world.lie(self)]
            inventory = Inventory(64_000, 64, 65_536, address="10.9.9.9", zone="zone-x", drivers=(Driver("process"),))
        return Hello(
            node=self.name,
            boot_id=f"boot-{self.machine.boot}",
            inventory=inventory,
            instances=tuple(kept),
            credential=self.credential,
            join_token=self.token,
            report_seq=self._last,
        )

    def _converse(self, session: Session) -> bool:
        """Until the stream is over; whether there was a welcome."""
        scheduler, down = self.world.scheduler, session.down
        hello = self._hello()
        beats = Heartbeats(scheduler.monotonic)
        session.send_up(hello)
        while not down.messages and not down.closed:
            down.bell.clear()
            if not down.bell.wait(WELCOME_SECONDS):
                return False
        welcome = down.messages.popleft() if down.messages else None
        if not isinstance(welcome, Welcomed):
            return False
        self._renew(beats, 0, welcome)
        self._resume(hello, welcome)
        self._bell = down.bell
        seq, due, told = 0, scheduler.monotonic, hello.report_seq
        while True:
            down.bell.clear()
            while down.messages:
                message = down.messages.popleft()
                if isinstance(message, Beat):
                    self._renew(beats, message.seq, welcome)
                else:
                    self._take(session, message)
            if down.closed or scheduler.monotonic >= beats.answered + MISSED_HEARTBEATS * HEARTBEAT_SECONDS:
                return True
            if scheduler.monotonic >= due:
                seq, due = seq + 1, scheduler.monotonic + HEARTBEAT_SECONDS
                beats.send(seq, scheduler.monotonic)
                session.send_up(Beat(seq))
            told = self._tell(session, told)
            if not down.bell.is_set():
                down.bell.wait(max(due - scheduler.monotonic, 0.01))

    def _resume(self, hello: Hello, welcome: Welcomed) -> None:
        self.joined = True
        self._acknowledged(hello.report_seq)
        self._results.clear()
        for instance in welcome.superseded:
            self._stop(instance, SUPERSEDED_GRACE_SECONDS)
        self.connected_at = self.world.scheduler.monotonic

    def _take(self, session: Session, message: object) -> None:
        match message:
            case Ack(seq=number):
                self._acknowledged(number)
            case StartJob() | StopJob() as command:
                self.world.watcher.sent(command)
                self._open += 1
                self.environment.spawn(f"obey-{command.effect[-9:]}", lambda: self._obey(session, command))

    def _tell(self, session: Session, told: int) -> int:
        """Reports before the results behind them; the number of the last report that went up."""
        results, self._results = self._results, []
        for number, facts in list(self._reports.items()):
            if number > told:
                told = number
                session.send_up((number, facts))
        for result in results:
            session.send_up(result)
        return told

    def _renew(self, beats: Heartbeats, seq: int, welcome: Welcomed) -> None:
        sent = beats.acknowledge(seq, self.world.scheduler.monotonic)
        if sent is not None:
            self.machine.fence_at = sent + welcome.fence_seconds

    def _acknowledged(self, seq: int) -> None:
        for number in [n for n in self._reports if n <= seq]:
            facts = self._reports.pop(number)
            process = self.machine.processes.get(facts.id)
            if process is not None and not facts.alive:
                process.told = True

    # commands

    def _obey(self, session: Session, command: Command) -> None:
        """Written down, carried out once, answered the same however often it comes. Each step may be the last."""
        fault = self.world.command_fault()
        with self._turns.setdefault(command.instance, Turn(self.world.scheduler)):
            if fault == "slow disk":
                self._dawdle()
            if fault == "torn before":
                session.tear()
                self._open -= 1
                return
            answer = self._once(session, command, slow=fault == "slow start")
        if fault == "torn after":
            session.tear()
        if self.session is session:
            self._results.append(Result(command.effect, answer))
        self._open -= 1
        self._bell.set()

    def _dawdle(self) -> None:
        seconds = self.environment.random().choice([1.0, 8.0, 30.0, 90.0])
        self.slow_until = max(self.slow_until, self.world.scheduler.monotonic + seconds)
        self.world.scheduler.sleep(seconds)

    def _once(self, session: Session, command: Command, *, slow: bool) -> Answer:
        known = self._journal.get(command.effect)
        if known is not None and known[0] != command.fingerprint:
            return Rejected("this effect was ordered before with another content", OTHER_FINGERPRINT)
        if known is not None and known[1] is not None:
            return known[1]
        if isinstance(command, StartJob) and command.instance in self._stopped:
            return Rejected("a stop of this instance came first", CANCELLED)
        if isinstance(command, StopJob):
            self._stopped.add(command.instance)
        self._journal[command.effect] = (command.fingerprint, None)
        self.world.scheduler.pause()
        if isinstance(command, StartJob) and self.session is not session:
            return Deferred("the stream that it came by has ended", RETRY_SECONDS)
        answer = self._start(command, slow=slow) if isinstance(command, StartJob) else self._stop_as(command)
        if not isinstance(answer, Deferred):
            self._journal[command.effect] = (command.fingerprint, answer)
        return answer

    def _stop_as(self, command: Command) -> Answer:
        assert isinstance(command, StopJob)
        self._stop(command.instance, self.environment.random().choice(STOPS_SECONDS))
        return Applied(command.instance)

    def _stop(self, instance: str, seconds: float) -> None:
        process = self.machine.processes.get(instance)
        if process is not None:
            self.machine.wind_down(process, seconds, reason="stopped")

    def _start(self, command: StartJob, *, slow: bool) -> Answer:
        known = self.machine.processes.get(command.instance)
        if known is not None:
            return Applied(command.instance)
        if "invalid" in command.spec.parameters:
            return Rejected("the program does not exist", INVALID_SPEC)
        alive = [process for process in self.machine.processes.values() if process.alive]
        used = sum(process.command.capacity_milli for process in alive)
        if used + command.capacity_milli > CAPACITY_MILLI:
            self.world.refused_for_room(self, command)
            return Rejected("no room", NO_CAPACITY)
        taken = {port for process in alive for port in process.facts.ports}
        if taken & set(command.spec.requirements.required_host_ports):
            self.world.refused_for_room(self, command)
            return Rejected("a port is taken", PORT_TAKEN)
        if self.world.refuses():
            return Rejected("not today", PORT_TAKEN)
        process = self.machine.prepare(command)
        if slow:
            self._dawdle()
        if process.fenced and self.machine.fence_at <= self.world.scheduler.monotonic:
            del self.machine.processes[command.instance]
            self.world.watcher.ended(process)
            return Deferred("cut off from the server", RETRY_SECONDS)
        self.world.forking(self, command)
        self.machine.fork(process, self.world.next_pid())
        return Applied(command.instance)
