"""One simulated run: a server, a fleet, a client and faults from one seed, and what must hold of them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from controllers.providers.agent_commands import StartJob
from resources.facts import Instance
from resources.reference import Ref
from store import credentials, resources
from store.tx import Tx
from tests.builders import a_pool
from tests.simulation.agent import SimAgent
from tests.simulation.disk import Disk
from tests.simulation.ending import Ending
from tests.simulation.environment import Simulated
from tests.simulation.faults import Faults
from tests.simulation.machine import Process
from tests.simulation.profiles import PROFILES, Profile
from tests.simulation.scheduler import Scheduler, SimSignal
from tests.simulation.server import SimServer
from tests.simulation.watcher import Watcher
from tests.simulation.workload import Client

ZONES = ("zone-a", "zone-b", "zone-c", "zone-d", "zone-e")
STEP_LIMIT = 200_000
SETTLE_SECONDS = 600.0
LIMITS = ((15, 60), (12, 45))
"""After how many seconds a node is silent, and lost."""


class Violation(AssertionError):
    """A promise was broken; the message says which."""


class World:
    """`run` plays one seed to its end and raises Violation, or what a task raised."""

    def __init__(self, seed: int, profile: Profile | str = "all") -> None:
        self.seed = seed
        self.profile = PROFILES[profile] if isinstance(profile, str) else profile
        self.scheduler = Scheduler(seed, drift=self.profile.drift)
        self.random = self.scheduler.random
        self.rates = self.profile.drawn(self.random)
        self.counts: Counter[str] = Counter()
        self.broken: list[str] = []
        self.server: SimServer | None = None
        self.healing = False
        self.callers: list[SimSignal] = []
        self.nodes: list[SimAgent] = []
        self._trouble_until = 0.0
        self._lives = itertools.count(1)
        self._pids = itertools.count(100)
        self._villains = 0
        self._over = False
        self.disk = Disk(self.scheduler, seed, self.fail, file=self.profile.file)
        self.outside = Simulated(self.scheduler, "outside")
        self.client = Client(self)
        self.watcher = Watcher(self)
        self.ending = Ending(self)

    def run(self) -> None:
        try:
            self._prepare()
            self.boot()
            self.villain("client", self.client.run)
            Faults(self).begin()
            self.outside.spawn("healer", self._heal)
            self.outside.spawn("watcher", self.watcher.run)
            self.scheduler.run(lambda: self._over or bool(self.broken), limit=STEP_LIMIT)
        finally:
            self.disk.close()
        if self.broken:
            raise Violation(self.broken[0])
        if not self._over:
            raise Violation("nobody can run any more")

    def _prepare(self) -> None:
        silent, self.lost_seconds = self.random.choice(LIMITS)
        latency = self.random.choice([0.001, 0.05, 0.3])
        with self.disk.write(self.outside) as tx:
            disconnect = {"silentSeconds": silent, "lostSeconds": self.lost_seconds}
            resources.create(tx, Ref("pool", "local"), a_pool(disconnect=disconnect))
            for zone in ZONES[: self.profile.nodes]:
                credentials.issue_join(tx, f"join-node-{zone[-1]}", f"node-{zone[-1]}", pool="local", ttl=1e9)
        self.nodes = [SimAgent(self, f"node-{zone[-1]}", zone, latency) for zone in ZONES[: self.profile.nodes]]
        for node in self.nodes:
            node.lies = self.random.random() < self.rates.liars
            node.machine.skew = self.random.choice([0.0, 0.0, -40.0, 40.0])

    def quiet(self) -> AbstractContextManager[Tx]:
        """What is committed, read beside everybody."""
        return self._memory() if not self.disk.file else self.disk.snapshot(self.outside.now)

    @contextmanager
    def _memory(self) -> Iterator[Tx]:
        self.disk.beside.begin(writing=False)
        try:
            yield Tx(self.disk.beside, self.scheduler.now, writable=False)
        finally:
            self.disk.beside.rollback()

    def fail(self, text: str) -> None:
        """A promise is broken; the run ends after this step."""
        self.broken.append(text)

    # weather

    def trouble(self, seconds: float = 0.0) -> None:
        """What happens until then may come late."""
        self._trouble_until = max(self._trouble_until, self.scheduler.monotonic + seconds)

    def calm(self) -> float:
        """Seconds since everything last worked as it should."""
        if self.server is None:
            return 0.0
        since = max(self._trouble_until, self.server.booted_at, *(node.slow_until for node in self.nodes))
        return self.scheduler.monotonic - since

    def villain(self, name: str, work: Callable[[], None]) -> None:
        """A task that the healer waits for."""
        self._villains += 1

        def play() -> None:
            work()
            self._villains -= 1

        self.outside.spawn(name, play)

    def boot(self) -> None:
        """A server begins; it is there once it has taken over."""
        if self.broken:
            return
        SimServer(self, next(self._lives))

    def down(self, server: SimServer) -> None:
        """A server is gone, and with it its end of every stream."""
        self.scheduler.kill(server.environment)
        self.server = None
        self.counts["kills"] += 1
        for node in self.nodes:
            if node.session is not None and node.session.server is server:
                node.session.leave_down()
        for reply in self.callers:
            reply.set()
        for problem in self.ending.specs():
            self.fail(problem)

    def _heal(self) -> None:
        while self._villains:
            self.scheduler.sleep(3.0)
        self.healing = True
        self.trouble()
        for node in self.nodes:
            node.link.mend()
            if not node.up:
                node.start()
        patience = self.scheduler.monotonic + SETTLE_SECONDS
        good = 0
        while good < 2:
            self.scheduler.sleep(8.0)
            problems = self.ending.problems()
            good = 0 if problems else good + 1
            if problems and self.scheduler.monotonic > patience:
                self.fail(f"not settled after {SETTLE_SECONDS:g} s: {problems[0]}")
                return
        self._over = True

    # what nodes and watchers ask

    def node(self, name: str) -> SimAgent:
        return next(node for node in self.nodes if node.name == name)

    def next_pid(self) -> int:
        return next(self._pids)

    def command_fault(self) -> str:
        draw = self.random.random()
        if self.healing:
            return ""
        if draw < self.rates.torn:
            self.counts["lost answers"] += 1
            self.trouble(5.0)
            return "torn before" if draw < self.rates.torn / 2 else "torn after"
        if draw < self.rates.torn + self.rates.slow:
            self.counts["slow commands"] += 1
            return self.random.choice(["slow disk", "slow start"])
        return ""

    def refuses(self) -> bool:
        return not self.healing and self.random.random() < self.rates.refusals

    def lie(self, liar: SimAgent) -> list[Instance]:
        """Instances of others, told as if they had ended here, and one of a job that never was."""
        others = [p.facts for node in self.nodes if node is not liar for p in node.machine.alive()]
        told = [Instance(**{**vars(facts), "node": liar.name, "state": "exited", "code": 1}) for facts in others]
        return [*told, Instance("no-such-uid", "no-such-uid.1.1", "primary", liar.name, 1, "exited", job="x.y.z")]

    def forking(self, agent: SimAgent, command: StartJob) -> None:
        self.counts["starts"] += 1
        self.watcher.forking(agent, command)

    def ended(self, process: Process) -> None:
        self.watcher.ended(process)

    def refused_for_room(self, agent: SimAgent, command: StartJob) -> None:
        self.counts["refused"] += 1
