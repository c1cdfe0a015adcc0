"""What a job's pass looks at: its claims, instances, effects and their nodes, its bundle's jobs, the fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controllers.expansion import BUNDLE_LABEL
from controllers.placing import Mate
from controllers.runtime.controller import Reader
from controllers.scheduling import PLAIN, Scheduling
from placement import FleetView
from resources import conditions
from resources.allocation import Allocation
from resources.effect import EffectRecord
from resources.facts import Instance, NodeFacts
from resources.job import Job
from resources.node import Node
from resources.pool import Pool
from resources.reference import Ref

START = "StartJob"


@dataclass(frozen=True)
class NodeState:
    """A node that holds something of this job; one that is back is neither silent nor lost, whatever its status is."""

    name: str
    silent: bool = False
    lost: bool = False
    given_up: bool = False
    """A person said that it will not come back, or it is registered no longer."""
    connected: bool = True
    """Its agent can be asked: the stream is open, and heartbeats come over it."""
    silent_since: float | None = None
    address: str = ""
    zone: str = ""
    heard_at: float = 0.0
    """When its last heartbeat came."""


@dataclass(frozen=True)
class Sibling:
    """Another job of the same bundle. `untried`: nobody has looked for a first place for it yet."""

    ref: Ref
    mate: Mate
    untried: bool = False
    waits: bool = False
    """It would take a place now if it had one."""


@dataclass(frozen=True)
class JobView:
    """`fleet` is shared: it may be read only while the planning lock is held, and a pass leaves it as it was."""

    pool: Pool | None = None
    allocations: Sequence[Allocation] = ()
    instances: Sequence[Instance] = ()
    effects: Mapping[str, EffectRecord] = field(default_factory=dict)
    nodes: Mapping[str, NodeState] = field(default_factory=dict)
    siblings: Sequence[Sibling] = ()
    fleet: FleetView = field(default_factory=FleetView)
    capacity_revision: int = 0
    """The pool's, as the fleet view shows it."""
    scheduling: Scheduling = PLAIN

    def node(self, name: str) -> NodeState:
        return self.nodes.get(name) or NodeState(name, silent=True, lost=True, given_up=True, connected=False)

    def instance(self, instance: str) -> Instance | None:
        return next((row for row in self.instances if row.id == instance), None)


def observe(job: Job, reader: Reader) -> JobView:
    allocations = tuple(reader.allocations(uid=job.uid))
    instances = tuple(reader.instances(uid=job.uid))
    effects = {record.key: record for record in reader.effects(job.uid)}
    names = {a.node for a in allocations} | {i.node for i in instances if i.alive}
    if job.spec.on_disconnect != "replace":
        names |= {record.target for record in effects.values() if record.kind == START and record.attempts}
    pool = reader.find(Ref("pool", job.spec.pool))
    siblings = reader.by_label("job", BUNDLE_LABEL, job.spec.bundle, job.project)
    return JobView(
        pool=pool if isinstance(pool, Pool) else None,
        allocations=allocations,
        instances=instances,
        effects=effects,
        nodes={name: state for name in sorted(names) if (state := _node(name, reader)) is not None},
        siblings=tuple(_sibling(other) for other in siblings if isinstance(other, Job) and other.uid != job.uid),
        fleet=reader.fleet(),
        capacity_revision=reader.capacity_revision(job.spec.pool),
        scheduling=reader.scheduling(),
    )


def _node(name: str, reader: Reader) -> NodeState | None:
    node = reader.find(Ref("node", name))
    return state_of(node, reader.facts(name)) if isinstance(node, Node) else None


def state_of(node: Node, facts: NodeFacts | None) -> NodeState:
    status = node.status
    since = status.silent_since
    open_ = facts is not None and facts.connected
    back = open_ and facts is not None and (since is None or facts.last_heartbeat > since)
    silent = status.phase in ("silent", "lost") and not back
    return NodeState(
        name=node.name,
        silent=silent,
        lost=status.phase == "lost" and not back,
        given_up=status.given_up,
        connected=open_ and not silent,
        silent_since=since,
        address=status.address or "",
        zone=status.zone or "",
        heard_at=0.0 if facts is None else facts.last_heartbeat,
    )


def _sibling(job: Job) -> Sibling:
    status = job.status
    waits = (
        status.phase == "pending"
        and job.spec.active
        and not (job.spec.placing_stopped or job.deleting or status.terminal)
    )
    told = conditions.find(status.conditions, "Unschedulable") is not None
    return Sibling(job.ref, Mate(job.ref, job.spec), untried=waits and not status.plans and not told, waits=waits)
