"""What befalls a simulated fleet: servers killed, links cut, agents and machines restarted, jobs dead, clocks moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.scheduler import SimTask
    from tests.simulation.world import World

SPAN_SECONDS = 120.0
"""Faults begin at some instant within this time."""
JUMPS = (-100.0, -20.0, -1.0, 5.0, 20.0, 70.0, 3600.0)


class Faults:
    """Each kind is a task of its own, so that any two may meet."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random
        self._scheduler = world.scheduler

    def begin(self) -> None:
        kinds: dict[str, Callable[[], None]] = {
            "kills": self._kill,
            "stops": self._stop,
            "cuts": self._cut,
            "lags": self._lag,
            "agent_kills": self._agent,
            "reboots": self._reboot,
            "crashes": self._crash,
            "jumps": self._jump,
            "full": self._fill,
        }
        for kind, strike in kinds.items():
            mean = getattr(self._world.rates, kind)
            times = int(mean + self._random.random())
            for number in range(times):
                self._world.villain(f"{kind}-{number}", lambda strike=strike: self._once(strike))
        self._scheduler.stall = self._stall if self._world.rates.stalls else lambda _task: 0.0

    def _once(self, strike: Callable[[], None]) -> None:
        self._scheduler.sleep(self._random.random() * SPAN_SECONDS)
        strike()
        self._world.trouble()

    def _kill(self) -> None:
        """kill -9 of the server, wherever its tasks stand."""
        server = self._world.server
        if server is not None and not self._world.healing:
            self._world.down(server)
            self._scheduler.sleep(self._random.choice([0.0, 1.0, 20.0, 60.0]))
            self._world.boot()

    def _stop(self) -> None:
        server = self._world.server
        if server is None or self._world.healing:
            return
        self._world.server = None
        task = server.environment.spawn("stop", server.stop)
        task.join(60.0)
        self._world.down(server)
        self._scheduler.sleep(self._random.choice([0.0, 3.0]))
        self._world.boot()

    def _cut(self) -> None:
        nodes = self._world.nodes
        many = nodes if self._random.random() < 0.1 else [self._random.choice(nodes)]
        for node in many:
            node.link.cut()
        self._world.counts["cuts"] += len(many)
        self._world.trouble()
        self._scheduler.sleep(self._random.choice([2.0, 12.0, 20.0, 50.0, 70.0, 90.0, 150.0]))
        for node in many:
            node.link.mend()

    def _lag(self) -> None:
        """What the server says comes late, and then what the node says not at all."""
        node = self._random.choice(self._world.nodes)
        self._world.counts["lags"] += 1
        node.link.down.latency = self._random.uniform(5.0, 14.5)
        self._scheduler.sleep(self._random.uniform(20.0, 60.0))
        node.link.up.open = False
        self._world.trouble()
        self._scheduler.sleep(self._random.choice([20.0, 70.0, 100.0]))
        node.link.mend()

    def _agent(self) -> None:
        node = self._random.choice(self._world.nodes)
        self._world.counts["agents"] += 1
        node.kill()
        self._scheduler.sleep(self._random.choice([0.0, 2.0, 30.0, 90.0]))
        if not node.up:
            node.start()

    def _reboot(self) -> None:
        node = self._random.choice(self._world.nodes)
        self._world.counts["reboots"] += 1
        node.reboot(wiped=self._random.random() < 0.3)
        self._scheduler.sleep(self._random.choice([0.0, 20.0, 90.0]))
        if not node.up:
            node.start()

    def _crash(self) -> None:
        alive = [(node, process) for node in self._world.nodes for process in node.machine.alive()]
        if alive:
            node, process = self._random.choice(alive)
            node.machine.end(process, signal=9, reason="killed")
            self._world.counts["crashes"] += 1

    def _jump(self) -> None:
        """The wall clock of everybody is set; monotonic clocks go on."""
        self._scheduler.offset += self._random.choice(JUMPS)
        self._world.counts["jumps"] += 1

    def _fill(self) -> None:
        self._world.counts["full disks"] += 1
        self._world.disk.fill(full=True)
        self._scheduler.sleep(self._random.choice([0.5, 3.0, 15.0]))
        self._world.disk.fill(full=False)

    def _stall(self, task: SimTask) -> float:
        """A writer that falls behind takes the whole server along, and doors and calls stand in one event loop, where
        nobody overtakes: neither does so by itself.
        """
        server = self._world.server
        if self._world.healing or server is None:
            return 0.0
        kind = task.name.partition("/")[2]
        if task.process is not server.environment or not kind.startswith(self._world.profile.stalled):
            return 0.0
        if self._random.random() >= self._world.rates.stalls:
            return 0.0
        seconds = self._random.choice(self._world.profile.stall_seconds)
        self._world.counts["stalls"] += 1
        self._world.trouble(seconds)
        return seconds
