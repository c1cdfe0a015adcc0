"""What must hold at every moment: told by the store's notes, by every start, and by a look every few seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from controllers.providers.agent_commands import Command, StartJob
from controllers.run_fingerprint import run_fingerprint
from controllers.runtime.failing import REASON
from resources import conditions
from resources.allocation import Allocation
from resources.job import Job
from resources.node import Node
from resources.resource import Resource
from store import effects, queue
from store.notes import Gone, Released, Reserved, Written
from tests.simulation.machine import Process

if TYPE_CHECKING:
    from tests.simulation.agent import SimAgent
    from tests.simulation.world import World

LOOK_SECONDS = 2.0
BRAKED = 3
"""So many silent nodes of a pool as small as these are no losses."""
BACK_SECONDS = 10.0
"""An older instance is asked to end within five seconds of its node's return, and takes up to four to do so."""
LATE_SECONDS = 15.0
"""A key or an effect that is due for so long in calm weather is forgotten."""


class Watcher:
    def __init__(self, world: World) -> None:
        self._world = world
        self.kinds: set[str] = set()
        self.jobs: dict[str, Job] = {}
        self.allocations: dict[str, Allocation] = {}
        self.causes: Counter[str] = Counter()
        """By job uid: ends that nobody asked for, and losses of its node."""
        self._observed: dict[str, int] = {}
        self._phases: dict[str, str] = {}
        self._turned_at: dict[str, float] = {}
        self._reserved_at: dict[str, float] = {}
        self._said: dict[str, frozenset[str]] = {}
        """By instance: the nodes of which a person said that they are gone for good, when it was decided on."""
        self._given_up: set[str] = set()
        self._since: dict[tuple[str, str], float] = {}

    # from the store

    def heard(self, notes: Sequence[object]) -> None:
        for note in notes:
            match note:
                case Written(resource=resource):
                    self._written(resource)
                case Gone(resource=Job() as job):
                    self.jobs.pop(job.uid, None)
                    held = [a.id for a in self.allocations.values() if a.uid == job.uid]
                    if held:
                        self._world.fail(f"{job.ref} is gone and holds {held}")
                case Reserved(allocation=allocation):
                    self._reserved(allocation)
                case Released(allocation=allocation):
                    self._released(allocation)
                case _:
                    pass

    def _written(self, resource: Resource[Any, Any]) -> None:
        self.kinds.add(resource.ref.kind)
        observed = resource.status.observed_generation
        if observed > resource.generation:
            self._world.fail(f"{resource.ref} observed {observed} of {resource.generation}")
        if observed < self._observed.get(resource.uid, 0):
            self._world.fail(f"{resource.ref} observed {self._observed[resource.uid]}, and then {observed}")
        self._observed[resource.uid] = observed
        match resource:
            case Job():
                self.jobs[resource.uid] = resource
                self._speaks_of_its_spec(resource)
                made = resource.status.restarts
                if made.failed + made.lost > self.causes[resource.uid]:
                    text = f"{made.failed} failures and {made.lost} losses, had {self.causes[resource.uid]}"
                    self._world.fail(f"{resource.ref} counts {text}")
            case Node():
                phase, before = resource.status.phase, self._phases.get(resource.name)
                (self._given_up.add if resource.status.given_up else self._given_up.discard)(resource.name)
                if phase == "lost" and before != "lost":
                    self._lost(resource)
                if phase != before:
                    self._turned_at[resource.name] = self._world.scheduler.monotonic
                self._phases[resource.name] = phase
            case _:
                pass

    def _speaks_of_its_spec(self, job: Job) -> None:
        """Who says that this generation was looked at has looked at it, unless the look failed."""
        ready = conditions.find(job.status.conditions, "Ready")
        if job.status.observed_generation != job.generation or job.deleting or ready is None or ready.reason == REASON:
            return
        if job.status.run_fingerprint != run_fingerprint(job.spec):
            self._world.fail(f"{job.ref} says that generation {job.generation} was looked at, and speaks of another")

    def _lost(self, node: Node) -> None:
        """Only after its whole time, by this server's count, and not while most of the others are silent as well."""
        world = self._world
        self.causes.update({a.uid for a in self.allocations.values() if a.node == node.name})
        if node.status.given_up or world.server is None:
            return
        up = world.scheduler.monotonic - world.server.booted_at
        if up < world.lost_seconds - 1:
            world.fail(f"{node.name} is lost {up:.0f} s after the server's start")
        heard = world.node(node.name).connected_for()
        if heard > BACK_SECONDS and world.calm() > BACK_SECONDS:
            world.fail(f"{node.name} is lost, and has been connected for {heard:.0f} s")
        quiet = [
            name
            for name, phase in self._phases.items()
            if phase in ("silent", "lost") and world.scheduler.monotonic - self._turned_at[name] > BACK_SECONDS
        ]
        if len(quiet) >= BRAKED and not world.client.given_up and not world.counts["jumps"]:
            world.fail(f"{node.name} is lost though {len(quiet)} of {len(world.nodes)} nodes are silent")

    def _reserved(self, allocation: Allocation) -> None:
        self.allocations[allocation.id] = allocation
        self._reserved_at[allocation.instance] = self._world.scheduler.monotonic
        self._said[allocation.instance] = frozenset(self._given_up)
        ports = [p for a in self.allocations.values() if a.node == allocation.node for p in a.ports]
        if len(set(ports)) < len(ports):
            self._world.fail(f"a port of {allocation.node} is claimed twice")

    def _released(self, allocation: Allocation) -> None:
        """Room is given back when the instance is known to have ended, or its node is lost."""
        self.allocations.pop(allocation.id, None)
        node = self._world.node(allocation.node)
        process = node.machine.processes.get(allocation.instance)
        if process is None or not process.alive or self._phases.get(node.name) == "lost":
            return
        if node.connected_for() > BACK_SECONDS and self._world.calm() > BACK_SECONDS:
            self._world.fail(f"{allocation.id} lives on {node.name}, and its room was given back")

    # from the nodes

    def sent(self, command: Command) -> None:
        uid, _, key = command.effect.partition(":")
        if uid == "stray":
            return
        with self._world.quiet() as tx:
            record = effects.find(tx, uid, key)
        if record is None or record.fingerprint != command.fingerprint:
            self._world.fail(f"{command.effect} was sent before it was recorded")

    def forking(self, agent: SimAgent, command: StartJob) -> None:
        """Another instance of the job may live only on a node that was away when this one was decided on."""
        for node in self._world.nodes:
            for other in list(node.machine.alive()):
                if other.facts.uid == command.job_uid:
                    self._second(agent, command, node, other)

    def _second(self, agent: SimAgent, command: StartJob, node: SimAgent, other: Process) -> None:
        if other.facts.id == command.instance:
            self._world.fail(f"{command.instance} lives on {node.name} and starts on {agent.name}")
        rule = command.spec.on_disconnect
        where = f"{other.facts.id} lives on {node.name}, and {command.instance} starts on {agent.name}"
        if node.name in self._said.get(command.instance, ()):
            return
        if rule != "replace" or other.fenced:
            self._world.fail(f"a job that is to {'stop' if rule == 'replace' else rule} runs twice: {where}")
        decided = self._reserved_at.get(command.instance, 0.0)
        if node.connected_at is not None and node.connected_at < decided - 1 and self._world.calm() > BACK_SECONDS:
            self._world.fail(f"nothing is cut off: {where}")

    def ended(self, process: Process) -> None:
        if not process.asked:
            self.causes[process.facts.uid] += 1

    # every few seconds

    def run(self) -> None:
        looks = 0
        while True:
            self._world.scheduler.sleep(LOOK_SECONDS)
            self._instances()
            if self._world.calm() > LOOK_SECONDS:
                self._world.ending.waiting()
            looks += 1
            if looks % 5 == 0 and self._world.calm() > LATE_SECONDS:
                self._late()
                self._world.ending.look()

    def _instances(self) -> None:
        """Two of a job, and instances that nothing is claimed for, live only as long as their nodes are away."""
        now = self._world.scheduler.monotonic
        found: dict[tuple[str, str], float] = {}
        by_job: dict[str, list[SimAgent]] = {}
        for node in self._world.nodes:
            used = 0
            for process in node.machine.alive():
                used += process.command.capacity_milli
                by_job.setdefault(process.facts.uid, []).append(node)
                if process.facts.id not in self.allocations and node.connected_at is not None:
                    found["nobody's", process.facts.id] = now
            if used > node.inventory.capacity_milli:
                self._world.fail(f"{node.name} carries {used} of {node.inventory.capacity_milli}")
        for uid, nodes in by_job.items():
            if len(nodes) > 1 and all(node.connected_at is not None for node in nodes):
                found["two of", uid] = now
        self._since = {key: self._since.get(key, now) for key in found}
        for (what, who), since in self._since.items():
            if now - since > BACK_SECONDS + LOOK_SECONDS and self._world.calm() > BACK_SECONDS + LOOK_SECONDS:
                self._world.fail(f"{what} {who} lived for {now - since:.0f} s though no node is away")

    def _late(self) -> None:
        with self._world.quiet() as tx:
            for row in queue.list_all(tx):
                since = row.available_at if row.expires_at is None else row.last_run_at
                if since < tx.now - LATE_SECONDS:
                    state = "due" if row.expires_at is None else "claimed"
                    self._world.fail(f"{row.kind}/{row.name} has been {state} for {tx.now - since:.0f} s")
