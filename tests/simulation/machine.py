"""A simulated machine: processes that live, become ready and end by themselves, and the fence that ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.endings import FENCED, RESTARTED
from controllers.providers.agent_commands import StartJob
from resources.facts import Instance

if TYPE_CHECKING:
    from tests.simulation.world import World

READY_SECONDS = 1.0
FENCE_GRACE_SECONDS = 9.0


@dataclass
class Process:
    """One instance of a job, as it really is. `fenced` processes end by themselves when the fence is reached."""

    facts: Instance
    command: StartJob
    began: float
    asked: bool = False
    """Somebody wants it to end, or its end was not its own doing."""
    doomed: float | None = None
    """It was asked to end before it ran, and will within so many seconds of its start."""
    told: bool = False
    """Its end is stored by the server."""

    @property
    def alive(self) -> bool:
        return self.facts.alive

    @property
    def running(self) -> bool:
        return self.facts.alive and self.facts.state != "starting"

    @property
    def fenced(self) -> bool:
        return self.command.spec.on_disconnect == "stop"


class Machine:
    """What outlives the agent: processes, their ends, and the fence on the disk."""

    def __init__(self, world: World, name: str, changed: Callable[[Process], None]) -> None:
        self.world = world
        self.name = name
        self.boot = 1
        self.skew = 0.0
        self.processes: dict[str, Process] = {}
        self.fence_at = 0.0
        self._changed = changed
        self._clock = world.scheduler

    def now(self) -> float:
        """This machine's own wall clock."""
        return self._clock.now + self.skew

    def alive(self) -> Iterator[Process]:
        """What runs; what is only prepared does not."""
        return (process for process in self.processes.values() if process.running)

    def prepare(self, command: StartJob) -> Process:
        """Its folder is there; nothing of it runs."""
        facts = Instance(
            uid=command.job_uid,
            id=command.instance,
            key=command.instance_key,
            node=self.name,
            attempt=command.attempt,
            state="starting",
            ports=command.spec.requirements.required_host_ports,
            at=self.now(),
            job=command.job,
        )
        process = self.processes[command.instance] = Process(facts, command, self._clock.monotonic)
        return process

    def fork(self, process: Process, pid: int) -> None:
        command, process.began = process.command, self._clock.monotonic
        process.facts = replace(process.facts, state="running", pid=pid, started_at=self.now(), at=self.now())
        self._clock.later(READY_SECONDS, lambda: self._ready(process))
        script = command.spec.parameters
        if "exits" in script:
            code = int(script.get("code", 1))
            self._clock.later(float(script["exits"]), lambda: self.end(process, code=code))
        if process.fenced:
            self._watch_fence(process)
        self._changed(process)
        if process.doomed is not None:
            self.wind_down(process, process.doomed, reason="stopped")

    def wind_down(self, process: Process, seconds: float, *, signal: int = 15, reason: str = "") -> None:
        """It was asked to end, and does so after a while."""
        if not process.alive:
            return
        process.asked = True
        if not process.running:
            process.doomed = seconds
            return
        if process.facts.state != "stopping":
            self.become(process, state="stopping")
        self._clock.later(seconds, lambda: self.end(process, signal=signal, reason=reason))

    def end(self, process: Process, *, code: int | None = None, signal: int | None = None, reason: str = "") -> None:
        if process.alive:
            ran = self._clock.monotonic - process.began
            self.become(process, state="exited", code=code, signal=signal, reason=reason, ran_seconds=ran)
            self.world.ended(process)

    def reboot(self) -> None:
        """Every process is over; nobody saw how."""
        self.boot += 1
        for process in list(self.alive()):
            self.end(process, reason=RESTARTED)

    def become(self, process: Process, **changes: Any) -> None:
        process.facts = replace(process.facts, at=self.now(), **changes)
        self._changed(process)

    def _ready(self, process: Process) -> None:
        if process.facts.state == "running":
            self.become(process, state="ready", ready_at=self.now())

    def _watch_fence(self, process: Process) -> None:
        """The shim looks again whenever the fence it knew has come."""
        if not process.alive or process.facts.state == "stopping":
            return
        left = self.fence_at - self._clock.monotonic
        if left > 0:
            self._clock.later(left, lambda: self._watch_fence(process))
            return
        self.world.counts["fenced"] += 1
        self.wind_down(process, self.world.random.uniform(0, FENCE_GRACE_SECONDS), reason=FENCED)
        process.asked = False
