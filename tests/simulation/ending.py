"""What must hold once everything is mended: all is settled or explained, and nothing would move if it was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from controllers.registry import CONTROLLERS
from controllers.replaying import DECISIONS, replay
from controllers.runtime.decision import Decision, Facts
from controllers.runtime.fleet import Fleet
from controllers.runtime.reader import SnapshotReader
from resources import conditions
from resources.canonical import canonical
from resources.job import Job
from resources.reference import Ref
from resources.resource import Resource
from store import effects, events, ledger, nodes, queue, resources
from store.tx import Tx

if TYPE_CHECKING:
    from tests.simulation.server import SimServer
    from tests.simulation.world import World

VAIN_SECONDS = 7.0
"""Who is to wake a job may be left standing for a few seconds, as threads are."""
SEEN_SECONDS = 4.0
"""A node that falls silent is seen so within these, by the one look a second and a pass."""
BY_KIND = {controller.kind: controller for controller in CONTROLLERS}
QUIET = frozenset({"Running", "Completed", "Dormant", "NoFit", "Dropped", "Broken"})
"""Reasons of a job's Ready that may stay for good."""
ON_THE_MOVE = frozenset({"Starting", "Recovering", "CrashLooping", "NoFit"})
"""Reasons of a job that ends by itself again and again."""
OF_BUNDLES = frozenset({"AllRunning", "Completed", "Dormant", "NoFit", "Broken", "JobDropped", "RollingOut"})
Some = Resource[Any, Any]


class Ending:
    def __init__(self, world: World) -> None:
        self._world = world
        self._vain: dict[tuple[str, float], float] = {}
        """Since when jobs, with the instant at which they will look again, have slept though they could move."""

    def problems(self) -> list[str]:
        """Why the world is not settled; empty once it is."""
        server = self._world.server
        if server is None or server.manager is None:
            return ["there is no server"]
        with self._world.quiet() as tx:
            return list(self._problems(tx, server))

    def look(self) -> None:
        """In calm weather: nodes are watched, and the view is the store's."""
        server = self._world.server
        if server is None or server.manager is None:
            return
        crew = server.manager.passes._crew
        if crew._at_work or crew._ready:
            return
        with self._world.quiet() as tx:
            for node in resources.list_all(tx, "node"):
                if queue_row(tx, node) is None and node.status.phase in ("running", "silent"):
                    self._world.fail(f"{node.ref} is {node.status.phase}, and nobody will look at it again")
            for problem in (*self._view(tx, server), *_unseen(tx, server)):
                self._world.fail(problem)

    def waiting(self) -> None:
        """No job sleeps until its next look while there is room for it."""
        server = self._world.server
        asleep = [job for job in self._world.watcher.jobs.values() if job.status.phase == "pending"]
        if server is None or server.manager is None or not asleep:
            self._vain = {}
            return
        seen, now = {}, self._world.scheduler.monotonic
        with self._world.quiet() as tx:
            for job in asleep:
                stored = resources.find(tx, job.ref)
                row: Any = None if stored is None else queue_row(tx, stored)
                if stored is None or row is None or row.expires_at is not None or row.available_at < tx.now + 3:
                    continue
                if _reason(stored) == "NoFit" and _moves(tx, stored, self._decision(tx, server, stored)):
                    since = seen[job.uid, row.available_at] = self._vain.get((job.uid, row.available_at), now)
                    if now - since > VAIN_SECONDS:
                        left = row.available_at - tx.now
                        self._world.fail(f"{job.ref} sleeps another {left:.0f} s though there is room for it")
        self._vain = seen

    def _problems(self, tx: Tx, server: SimServer) -> Iterator[str]:
        alive = {p.facts.id: p.facts.uid for node in self._world.nodes for p in node.machine.alive()}
        stored: list[Some] = [r for kind in BY_KIND for r in resources.list_all(tx, kind)]
        yield from self._specs({r.name: r for r in stored if r.ref.kind == "bundle"})
        for effect in effects.list_all(tx):
            if not effect.final:
                yield f"{effect.id} is {effect.state}: {effect.error}"
        for row in queue.list_all(tx):
            if row.errors:
                yield f"{row.kind}/{row.name} has failed {row.errors} times"
        for resource in stored:
            yield from self._explained(resource)
            if resource.ref.kind == "job":
                mine = [instance for instance, uid in alive.items() if uid == resource.uid]
                yield from _job(resource, mine)
            yield from self._restless(tx, server, resource)
        uids = {r.uid for r in stored}
        yield from (f"{instance} lives and is nobody's" for instance, uid in alive.items() if uid not in uids)
        yield from (f"{a.id} is claimed for nobody" for a in ledger.list_allocations(tx) if a.uid not in uids)
        yield from self._ledger(tx)
        yield from self._view(tx, server)
        yield from _replayed(tx, server)

    def _specs(self, stored: dict[str, Some]) -> Iterator[str]:
        for name, wanted in self._world.client.acknowledged.items():
            found = stored.get(name)
            have = None if found is None or found.deleting else canonical(found.document)
            if have != wanted:
                yield f"bundle/{name}: acknowledged {wanted}, stored {have}"

    def specs(self) -> list[str]:
        """At a moment at which no write is under way."""
        with self._world.quiet() as tx:
            return list(self._specs({r.name: r for r in resources.list_all(tx, "bundle")}))

    def _explained(self, resource: Some) -> Iterator[str]:
        if resource.status.observed_generation != resource.generation:
            yield f"{resource.ref}: generation {resource.generation}, observed {resource.status.observed_generation}"
        if resource.deleting:
            yield f"{resource.ref} is still being deleted"
        ready = conditions.find(resource.status.conditions, "Ready")
        if ready is None or (ready.status != "True" and not (ready.reason and ready.message)):
            yield f"{resource.ref} is not ready and does not say why: {ready}"
        elif resource.ref.kind == "bundle" and ready.reason not in OF_BUNDLES | ON_THE_MOVE:
            yield f"{resource.ref} is {ready.reason}: {ready.message}"

    def _ledger(self, tx: Tx) -> Iterator[str]:
        summed = ledger.summed(tx, "local")
        for resource, (_, claimed) in ledger.rollup(tx, "local").items():
            if summed.get(resource, claimed) != claimed:
                yield f"rollup of {resource} is {claimed}, the claims add up to {summed[resource]}"
        for node in self._world.nodes:
            claims = ledger.list_allocations(tx, node=node.name)
            for resource, (_, _, claimed) in ledger.room(tx, node.name).items():
                total = sum(dict(ledger.scalars(claim))[resource] for claim in claims)
                if total != claimed:
                    yield f"{node.name} has {claimed} {resource} claimed, the claims add up to {total}"

    def _view(self, tx: Tx, server: SimServer) -> Iterator[str]:
        """The fleet view equals one that is read anew."""
        assert server.manager is not None
        kept, read = server.manager.fleet, Fleet(server.store)
        read._load(tx)
        if kept.view != read.view:
            yield f"the fleet view differs from the store: {_difference(kept, read)}"
        waiting = [sorted(jobs) for fleet in (kept, read) for jobs in ([j.uid for j in fleet.waiting("local")],)]
        if waiting[0] != waiting[1]:
            yield f"the fleet view has {waiting[0]} waiting, the store {waiting[1]}"

    def _restless(self, tx: Tx, server: SimServer, resource: Some) -> Iterator[str]:
        """A pass over it now would do nothing but tell the time, and what is to be looked at later will be."""
        decision = self._decision(tx, server, resource)
        if _moves(tx, resource, decision):
            yield f"{resource.ref} would be decided otherwise if it was looked at"
        elif decision.requeue_after is not None and queue_row(tx, resource) is None:
            yield f"{resource.ref} is to be looked at in {decision.requeue_after:.0f} s, and will not be"

    def _decision(self, tx: Tx, server: SimServer, resource: Some) -> Decision:
        assert server.manager is not None
        controller = BY_KIND[resource.ref.kind]
        view = controller.observe(resource, SnapshotReader(tx, server.manager.fleet, server.manager.started_at))
        return controller.decide(resource, view, Facts(now=tx.now, seed=1))


def _unseen(tx: Tx, server: SimServer) -> Iterator[str]:
    """Nodes that have been silent for a while, and whose status does not know."""
    assert server.manager is not None
    now, since = server.environment.now(), server.store.heard_since(server.manager.passes.epoch.since())
    for facts in nodes.all_facts(tx):
        node = resources.find(tx, Ref("node", facts.node))
        pool = None if node is None else resources.find(tx, Ref("pool", node.spec.pool))
        if node is None or pool is None or node.status.phase != "running":
            continue
        limit = max(facts.silent_seconds, pool.spec.disconnect.silent_seconds)
        quiet = now - max(facts.last_heartbeat, since) - limit
        if quiet > SEEN_SECONDS:
            yield f"{node.ref} has been silent for {quiet:.1f} s, and nobody has seen it"


def _moves(tx: Tx, resource: Some, decision: Decision) -> bool:
    new = [e for e in decision.effects if effects.find(tx, resource.uid, e.key) is None]
    acts = new or decision.claims or decision.children or decision.blocks
    then = conditions.find(decision.status.conditions, "Ready")
    return bool(acts) or (then is not None and then.reason != _reason(resource))


def queue_row(tx: Tx, resource: Some) -> object | None:
    rows = queue.list_all(tx)
    return next((r for r in rows if (r.kind, r.project, r.name) == _key(resource)), None)


def _key(resource: Some) -> tuple[str, str, str]:
    return resource.ref.kind, resource.ref.project, resource.ref.name


def _reason(resource: Some) -> str:
    ready = conditions.find(resource.status.conditions, "Ready")
    return "" if ready is None else ready.reason


def _job(job: Some, living: list[str]) -> Iterator[str]:
    assert isinstance(job, Job)
    ready = conditions.find(job.status.conditions, "Ready")
    if ready is None:
        return
    steady = "exits" not in job.spec.parameters
    if ready.reason not in QUIET and (steady or ready.reason not in ON_THE_MOVE):
        yield f"{job.ref} is {ready.reason}: {ready.message}"
    wanted = [job.status.instance_id] if ready.reason == "Running" else []
    if living != wanted and (steady or len(living) > 1):
        yield f"{job.ref} is {ready.reason}, {wanted} should live and {living} do"


def _difference(kept: Fleet, read: Fleet) -> str:
    for mine, theirs in zip(kept.view.pool("local"), read.view.pool("local"), strict=False):
        if mine != theirs:
            return f"{mine} is {theirs}"
    return "nodes"


def _replayed(tx: Tx, server: SimServer) -> Iterator[str]:
    """Every decision of the placer that the log still reaches comes out as it did."""
    assert server.manager is not None
    for event in events.list_for(tx, limit=10_000):
        if event.type in DECISIONS and event.ref.kind == "job":
            found = replay(tx, event.id, server.manager.fleet)
            if found is not None and found.equal is False:
                yield f"decision {event.id} of {event.ref} is {found.decided}, made again it is {found.replayed}"
