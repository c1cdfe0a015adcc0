"""One simulated run: a server that is killed, a fleet that fails, a client that applies, and what must hold."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from api.agent_facts import AgentFacts
from controllers.providers.agent_commands import Command
from controllers.providers.agents import AgentDriver
from controllers.registry import CONTROLLERS
from controllers.runtime.manager import Manager
from resources import conditions
from resources.canonical import Document, canonical
from resources.reference import Ref
from store import credentials, effects, ledger, queue, resources
from store.engine import open_engine
from store.errors import StoreError
from store.schema import prepare
from store.store import Store
from tests.builders import a_job_entry, a_pool
from tests.simulation.environment import Simulated
from tests.simulation.fleet import LOST, SimConnections, SimNode
from tests.simulation.scheduler import Scheduler

PROJECT = "default"
CUT_OFF_SECONDS = 5.0
"""How long after its return a node may carry an instance that was replaced meanwhile."""


class Violation(AssertionError):
    """A promise was broken; the message says which."""


@dataclass(frozen=True)
class Profile:
    """How cruel a run is, and what it works on."""

    name: str = "all"
    bundles: int = 3
    changes: int = 6
    kills: int = 2
    nodes_lost: int = 1
    cuts: int = 2
    agent_restarts: int = 1
    reboots: int = 1
    faults: float = 0.2
    crashes: bool = True
    step_limit: int = 120_000


class SimServer:
    """One life of the server process over the store that outlives it."""

    def __init__(self, world: World, life: int) -> None:
        self.world = world
        self.environment = Simulated(world.scheduler, f"server{life}")
        self.store = Store(world.engine, self.environment)
        self.connections = SimConnections(world)
        self.facts = AgentFacts(self.store)
        self.manager: Manager | None = None
        self.up = False

    def boot(self) -> None:
        """A task of the process: open, take over, run."""
        self.store.start()
        self.manager = Manager(
            self.store,
            self.environment,
            {controller.kind: controller for controller in CONTROLLERS},
            [AgentDriver(self.connections)],  # type: ignore[arg-type]
            workers=3,
            effect_workers=3,
        )
        self.manager.start()
        self.up = True
        self.world.server = self

    def call(self, work: Callable[[], Any], seconds: float) -> Any:
        """Run work inside this process for a caller outside; LOST when no answer came."""
        reply = self.world.scheduler.signal()
        answer: list[Any] = []

        def serve() -> None:
            try:
                answer.append(work())
            except StoreError as error:
                answer.append(error)
            reply.set()

        self.environment.spawn("call", serve)
        reply.wait(seconds)
        return answer[0] if answer else LOST


@dataclass
class World:
    """`run` plays one seed to its end and raises Violation, or returns the number of steps."""

    seed: int
    profile: Profile = field(default_factory=Profile)

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.seed)
        self.random = self.scheduler.random
        self.engine = open_engine(None)
        self.outside = Simulated(self.scheduler, "outside")
        prepare(self.engine, self.outside)
        self.server: SimServer | None = None
        self.starts: dict[str, int] = {}
        self.acknowledged: dict[str, str | None] = {}
        self.final: dict[tuple[str, str], str] = {}
        self.healing = False
        self.calm_since: dict[str, float] = {}
        self._lives = itertools.count(1)
        self._pids = itertools.count(100)
        self._doubles: dict[str, float] = {}
        self._done = 0
        self.counts = {"kills": 0, "cuts": 0, "reboots": 0, "restarts": 0, "crashes": 0, "writes": 0}
        self.nodes: list[SimNode] = []

    def next_pid(self) -> int:
        return next(self._pids)

    def fault(self) -> str | None:
        if self.healing or self.random.random() >= self.profile.faults:
            return None
        return self.random.choice(["before", "after", "after", "slow"])

    def join(self, node: str) -> str:
        """A join token, straight into the store before anything runs."""
        raw = f"join-{node}"
        with self._quiet() as tx:
            credentials.issue_join(tx, raw, node, pool="local", ttl=1e9)
        return raw

    def _quiet(self) -> Any:
        return Store(self.engine, self.outside).transaction()

    def run(self) -> int:
        with self._quiet() as tx:
            resources.create(tx, Ref("pool", "local"), a_pool(disconnect={"silentSeconds": 15, "lostSeconds": 60}))
        zones = ("zone-a", "zone-b", "zone-c")
        self.nodes = [SimNode(self, f"node-{zone[-1]}", zone) for zone in zones]
        self._start_server()
        villains = [self._client, self._killer, self._network, self._machines, self._crashes]
        for villain in villains:
            self.outside.spawn(villain.__name__, villain)
        self.outside.spawn("healer", lambda: self._heal(len(villains)))
        self.scheduler.run(lambda: self._done > len(villains), limit=self.profile.step_limit, after_step=self._check)
        self._check_end()
        return self.scheduler.steps

    # what happens

    def _start_server(self) -> None:
        server = SimServer(self, next(self._lives))
        server.environment.spawn("boot", server.boot)

    def _client(self) -> None:
        """Applies, changes and deletes bundles, and remembers what was acknowledged."""
        for _ in range(self.profile.changes):
            name = f"b{self.random.randrange(self.profile.bundles)}"
            if self.random.random() < 0.2:
                self._write(name, None)
            else:
                self._write(name, self._some_bundle())
            self.scheduler.sleep(self.random.choice([0.0, 0.5, 5.0, 30.0, 90.0]))
        self._done += 1

    def _some_bundle(self) -> Document:
        pick = self.random.choice
        jobs = []
        for number in range(self.random.randrange(1, 3)):
            parameters: Document = {"v": self.random.randrange(2)}
            if self.random.random() < 0.25:
                parameters |= {"exits": pick([0.5, 20, 400]), "code": pick([1, 1, 0])}
            jobs.append(
                a_job_entry(
                    f"j{number}",
                    parameters=parameters,
                    onDisconnect=pick(["replace", "replace", "stop"]),
                    requirements={"requiredCapacity": pick([0.5, 1, 2])},
                )
            )
        more: Document = {}
        if self.random.random() < 0.5:
            more["resiliencePolicy"] = {"sameNode": pick(["forbid", "allow"])}
        return {"pool": "local", "jobs": jobs, **more}

    def _write(self, name: str, document: Document | None) -> None:
        ref = Ref("bundle", name, PROJECT)
        while self.server is None:
            self.scheduler.sleep(0.5)
        server = self.server
        self.acknowledged.pop(name, None)

        def apply(tx: Any) -> str | None:
            found = resources.find(tx, ref)
            if document is None:
                if found is not None:
                    resources.request_deletion(tx, found)
                return None
            if found is None:
                resources.create(tx, ref, document, finalizers=("rmctl/jobs",))
            elif found.deleting:
                resources.revive(tx, found, document) if canonical(found.document) != canonical(document) else None
            else:
                resources.replace(tx, found, document=document)
            return canonical(document)

        answer = server.call(lambda: server.store.write(apply), 30.0)
        self.counts["writes"] += 1
        if answer is not LOST and not isinstance(answer, Exception):
            self.acknowledged[name] = answer

    def _killer(self) -> None:
        """kill -9 of the server, wherever its tasks stand."""
        for _ in range(self.random.randrange(self.profile.kills + 1)):
            self.scheduler.sleep(self.random.random() * 120)
            if self.server is not None:
                self.scheduler.kill(self.server.environment)
                self.server = None
                self.counts["kills"] += 1
                self.scheduler.sleep(self.random.choice([0.0, 1.0, 20.0]))
                self._start_server()
        self._done += 1

    def _network(self) -> None:
        for _ in range(self.random.randrange(self.profile.cuts + 1)):
            self.scheduler.sleep(self.random.random() * 100)
            node = self.random.choice(self.nodes)
            node.reachable = False
            self.counts["cuts"] += 1
            self.scheduler.sleep(self.random.choice([2.0, 20.0, 90.0, 200.0]))
            self._back(node)
        self._done += 1

    def _machines(self) -> None:
        for _ in range(self.random.randrange(self.profile.agent_restarts + self.profile.reboots + 1)):
            self.scheduler.sleep(self.random.random() * 150)
            node = self.random.choice(self.nodes)
            if self.random.random() < 0.5:
                node.restart_agent()
                self.counts["restarts"] += 1
            else:
                node.reboot()
                self.counts["reboots"] += 1
        self._done += 1

    def _crashes(self) -> None:
        """Jobs die now and then."""
        for _ in range(self.random.randrange(4) if self.profile.crashes else 0):
            self.scheduler.sleep(self.random.random() * 100)
            alive = [(node, process) for node in self.nodes for process in node.alive()]
            if alive:
                node, process = self.random.choice(alive)
                node.end(process.instance.id, signal=9, reason="killed")
                self.counts["crashes"] += 1
        self._done += 1

    def _heal(self, villains: int) -> None:
        while self._done < villains:
            self.scheduler.sleep(5.0)
        self.healing = True
        for node in self.nodes:
            self._back(node)
        self.scheduler.sleep(900.0)
        while not self._settled():
            self.scheduler.sleep(30.0)
        self._done += 1

    def _settled(self) -> bool:
        if self.server is None:
            return False
        with self._quiet() as tx:
            busy = [row for row in queue.list_all(tx) if row.errors]
            pending = [e for e in effects.list_all(tx) if not e.final]
            deleting = [b for b in resources.list_all(tx, "bundle") if b.deleting]
        return not (busy or pending or deleting)

    def _back(self, node: SimNode) -> None:
        node.reachable = node.up = True
        self.calm_since[node.name] = self.scheduler.monotonic

    # what must hold

    def check_recorded(self, command: Command) -> None:
        uid, _, key = command.effect.partition(":")
        with self._quiet() as tx:
            record = effects.find(tx, uid, key)
        if record is None or record.fingerprint != command.fingerprint:
            raise Violation(f"{command.effect} was sent before it was recorded")

    def _check(self) -> None:
        if self.scheduler.steps % 25:
            return
        for node in self.nodes:
            used = sum(process.command.capacity_milli for process in node.alive())
            if used > node.inventory.capacity_milli:
                raise Violation(f"{node.name} carries {used} of {node.inventory.capacity_milli}")
        self._check_doubles()

    def _check_doubles(self) -> None:
        """Two of a job live only while a node is cut off, and five seconds after; of a `stop` job never."""
        by_job: dict[str, list[tuple[SimNode, Any]]] = {}
        for node in self.nodes:
            for process in node.alive():
                by_job.setdefault(process.instance.uid, []).append((node, process))
        now = self.scheduler.monotonic
        for uid, found in by_job.items():
            if len(found) < 2:
                self._doubles.pop(uid, None)
                continue
            if len({process.instance.id for _, process in found}) < len(found):
                raise Violation(f"one instance of {uid} lives twice")
            cut_off = any(node.session is not self.server for node, _ in found) or self.server is None
            since = self._doubles.setdefault(uid, now)
            if cut_off:
                self._doubles[uid] = now
            elif now - since > CUT_OFF_SECONDS + 15.0:
                raise Violation(f"two instances of {found[0][1].instance.job} live though no node is cut off")

    def _check_end(self) -> None:
        with self._quiet() as tx:
            bundles = resources.list_all(tx, "bundle")
            jobs = resources.list_all(tx, "job")
            records = effects.list_all(tx)
            rollup = {r: claimed for r, (_, claimed) in ledger.rollup(tx, "local").items()}
            summed = ledger.summed(tx, "local")
            allocations = ledger.list_allocations(tx)
        self._check_specs({bundle.name: bundle for bundle in bundles})
        for resource in (*bundles, *jobs):
            self._check_explained(resource)
        self._check_instances(jobs)
        for effect in records:
            if self.starts.get(effect.id, 0) > 1 and not any(n.boot > 1 for n in self.nodes):
                raise Violation(f"{effect.id} was carried out {self.starts[effect.id]} times")
        if any(summed[resource] != claimed for resource, claimed in rollup.items() if resource in summed):
            raise Violation(f"rollup {rollup} is not the sum {summed}")
        stale = [a for a in allocations if a.uid not in {job.uid for job in jobs}]
        if stale:
            raise Violation(f"{stale[0].id} is claimed for a job that is gone")

    def _check_specs(self, stored: dict[str, Any]) -> None:
        for name, wanted in self.acknowledged.items():
            found = stored.get(name)
            have = None if found is None or found.deleting else canonical(found.document)
            if have != wanted:
                raise Violation(f"bundle/{name}: acknowledged {wanted}, stored {have}")

    def _check_explained(self, resource: Any) -> None:
        ready = conditions.find(resource.status.conditions, "Ready")
        if resource.status.observed_generation != resource.generation:
            raise Violation(
                f"{resource.ref}: generation {resource.generation} settled at {resource.status.observed_generation}"
            )
        if ready is None or (ready.status != "True" and not (ready.reason and ready.message)):
            raise Violation(f"{resource.ref} is not ready and does not say why: {ready}")

    def _check_instances(self, jobs: tuple[Any, ...]) -> None:
        alive: dict[str, list[str]] = {}
        for node in self.nodes:
            for process in node.alive():
                alive.setdefault(process.instance.uid, []).append(process.instance.id)
        for job in jobs:
            living = alive.pop(job.uid, [])
            ready = conditions.find(job.status.conditions, "Ready")
            running = ready is not None and ready.status == "True" and ready.reason == "Running"
            if running and living != [job.status.instance_id]:
                raise Violation(f"{job.ref} says it runs as {job.status.instance_id}, alive are {living}")
            if not running and len(living) > 1:
                raise Violation(f"{job.ref} is {ready.reason if ready else None} and {living} live")
        if alive:
            raise Violation(f"instances without an owner: {alive}")

    def digest(self) -> str:
        """Equal for equal runs."""
        return hashlib.sha256("\n".join(self.scheduler.trace).encode()).hexdigest()[:16]
