"""What agents report, written into the store: one transaction a message, and the keys woken that care."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.agent_contests import CONTESTED, Contests
from api.agent_homes import Homes
from api.agent_join import Identified, NotAllowed, NotKnown, identified
from api.agent_wire import Hello, JobFolder, an_end_of
from controllers.providers.agent_commands import StopJob
from placement.request import CAPABILITY_PREFIX, DRIVER_PREFIX
from resources.event import Event
from resources.facts import Instance, Inventory, LogTail, NodeFacts
from resources.job import Job
from resources.node import Node, NodeSpec, NodeStatus
from resources.pool import Disconnect, Pool
from resources.reference import Ref
from resources.resource import Resource
from store import bookings, effects, events, holds, ledger, nodes, queue, resources
from store.notes import Gone, Written
from store.store import Store, notes_of
from store.tx import Tx

DRIVER_KIND_PREFIX = "rmctl/driver-kind."
TOLD_PREFIXES = (CAPABILITY_PREFIX, DRIVER_PREFIX, DRIVER_KIND_PREFIX)
"""Labels that come with a Hello and go with the next one that does not tell them."""
ADDRESS_KEPT = "says that its address is {}; {} stays: an address counts from the join on (rmctl node join OTHER-NAME)"
QUIET = frozenset({"silent", "lost"})
RANK = {state: rank for rank, state in enumerate(("prepared", "starting", "running", "ready", "stopping", "exited"))}


@dataclass(frozen=True)
class Welcomed:
    """`credential` is one made here for an agent that brought none; `superseded` instances are to be ended.

    `strays` would be, if effects were not held.
    """

    fence_seconds: float
    superseded: tuple[str, ...] = ()
    credential: str = ""
    strays: tuple[Instance, ...] = ()
    gone: tuple[JobFolder, ...] = ()
    """Folders that the node keeps of jobs that are no more."""
    kept: tuple[str, ...] = ()
    """Uids of the jobs behind the other ones."""
    beat_seconds: float = Disconnect().beat_seconds
    """The longest time between two heartbeats that the node's pool can stand."""


class AgentFacts:
    """Every method blocks until what it wrote is durable. `forget` tells a node that a job it ran is gone."""

    def __init__(self, store: Store, forget: Callable[[str, JobFolder], None] = lambda _node, _folder: None) -> None:
        self._store = store
        self._forget = forget
        self._homes = Homes()
        self._contests = Contests()
        self._quiet: set[str] = set()
        self._strays: dict[str, tuple[Instance, ...]] = {}
        store.subscribe(self._follow)
        with store.read() as tx:
            for node in resources.list_all(tx, "node"):
                self._note(node)

    def hello(self, hello: Hello) -> Welcomed | NotKnown | NotAllowed:
        answer, now = self._store.write(lambda tx: (_hello(tx, hello, secrets.token_urlsafe(32)), tx.now))
        if isinstance(answer, Welcomed):
            if self._contests.opened(hello.node, now):
                self._store.write(lambda tx: _warn(tx, hello.node, "NodeContested", CONTESTED))
            self._strays[hello.node] = answer.strays
            self._homes.keep(hello.node, *(i.uid for i in hello.instances), *answer.kept)
        return answer

    def strays(self) -> tuple[Instance, ...]:
        """Instances that live on although nothing here asks for them, since effects are held."""
        return tuple(instance for found in list(self._strays.values()) for instance in found)

    def heartbeats(self, beating: Sequence[str]) -> None:
        """Server time for each; a node that was thought silent is looked at."""
        self._store.write(lambda tx: _heartbeats(tx, beating, frozenset(self._quiet)))

    def report(self, node: str, seq: int, instance: Instance) -> StopJob | None:
        """A number that was stored before is ignored. What must not live on, since nothing is claimed for it here, is
        ended by the answer.
        """
        answer = self._store.write(lambda tx: _report(tx, node, seq, instance))
        self._homes.keep(node, instance.uid)
        return answer

    def log_tail(self, node: str, tail: LogTail) -> None:
        self._store.write(
            lambda tx: nodes.put_log_tail(tx, tail) if _theirs(tx, node, tail.uid, tail.instance) else None
        )

    def hurry(self, node: str) -> None:
        """What waits for this node, or is unsure about it, is due now."""
        self._store.write(lambda tx: effects.hurry(tx, node))

    def disconnected(self, node: str) -> None:
        self._contests.closed(node)
        self._store.write(lambda tx: _disconnected(tx, node))

    def _follow(self, notes: Sequence[object]) -> None:
        for note in notes_of(notes, Written):
            if isinstance(note.resource, Node):
                self._note(note.resource)
        for gone in notes_of(notes, Gone):
            ref = gone.resource.ref
            for node in self._homes.leave(gone.resource.uid):
                self._forget(node, JobFolder(ref.project, ref.name, gone.resource.uid))

    def _note(self, node: Resource[Any, Any]) -> None:
        if node.status.phase in QUIET:
            self._quiet.add(node.name)
        else:
            self._quiet.discard(node.name)


def _hello(tx: Tx, hello: Hello, spare_credential: str) -> Welcomed | NotKnown | NotAllowed:
    known = identified(tx, hello, spare_credential)
    if not isinstance(known, Identified):
        return known
    node: Resource[NodeSpec, NodeStatus] = resources.get(tx, Ref("node", hello.node))
    _told_labels(tx, node, hello.inventory)
    before = nodes.facts(tx, hello.node)
    pool = resources.find(tx, Ref("pool", node.spec.pool))
    limits = pool.spec.disconnect if isinstance(pool, Pool) else Disconnect()
    _put_facts(tx, hello, None if known.joined else before, limits)
    restarted = before is not None and before.boot_id != hello.boot_id
    superseded = _whole_truth(tx, hello, "node restarted" if restarted else "lost with its agent's memory")
    queue.enqueue(tx, node.ref)
    fence, beat = limits.fence_seconds, limits.beat_seconds
    kept, gone = _folders(tx, hello.kept)
    if holds.find(tx) is None:
        return Welcomed(fence, superseded, known.credential, gone=gone, kept=kept, beat_seconds=beat)
    strays = tuple(one for one in hello.instances if one.id in superseded)
    return Welcomed(fence, (), known.credential, strays, kept=kept, beat_seconds=beat)


def _warn(tx: Tx, node: str, type_: str, message: str) -> None:
    known = resources.find(tx, Ref("node", node))
    if known is not None:
        events.add(tx, known.ref, known.uid, Event(type_, message, "Warning"))


def _folders(tx: Tx, kept: Iterable[JobFolder]) -> tuple[tuple[str, ...], tuple[JobFolder, ...]]:
    """Uids of the jobs that have a folder on the node, and the folders of those that are no more."""
    stand, gone = [], []
    for folder in kept:
        job = resources.find(tx, Ref("job", folder.job, folder.project))
        if job is None or folder.uid not in ("", job.uid):
            gone.append(folder)
        else:
            stand.append(job.uid)
    return tuple(stand), tuple(gone)


def _told_labels(tx: Tx, node: Resource[NodeSpec, NodeStatus], inventory: Inventory) -> None:
    """What this Hello names, and nothing that an earlier one did."""
    kept = {key: value for key, value in node.labels.items() if not key.startswith(TOLD_PREFIXES)}
    told = {f"{CAPABILITY_PREFIX}{name}": "1" for name in inventory.capabilities}
    for driver in inventory.drivers:
        told[f"{DRIVER_PREFIX}{driver.id}"] = driver.version
        told |= {f"{DRIVER_KIND_PREFIX}{driver.id}.{kind}": "1" for kind in driver.kinds}
    resources.replace(tx, node, labels=kept | told)


def _put_facts(tx: Tx, hello: Hello, before: NodeFacts | None, limits: Disconnect) -> None:
    """Labels and address count at the join, after which `before` is what it said then; a node never grows."""
    inventory = hello.inventory
    if before is not None:
        known = before.inventory
        if inventory.address != known.address:
            told, kept = inventory.address or "none", known.address or "none"
            _warn(tx, hello.node, "NodeAddressKept", ADDRESS_KEPT.format(told, kept))
        inventory = replace(
            inventory,
            capacity_milli=min(inventory.capacity_milli, known.capacity_milli),
            cores=min(inventory.cores, known.cores),
            memory_mib=min(inventory.memory_mib, known.memory_mib),
            address=known.address,
            labels=known.labels,
        )
    bookings.sicken(tx, hello.node, [device.id for device in inventory.devices if not device.healthy])
    facts = NodeFacts(
        hello.node,
        hello.boot_id,
        inventory,
        tx.now,
        hello.report_seq,
        connected=True,
        lost_seconds=limits.lost_seconds,
        silent_seconds=limits.silent_seconds,
    )
    nodes.put_facts(tx, facts)


def _whole_truth(tx: Tx, hello: Hello, gone: str) -> tuple[str, ...]:
    """Bring what is known of the node's instances to what it says; returns those that must not live on.

    `gone` is the reason of those that it no longer names.
    """
    stored = {(i.uid, i.id): i for i in nodes.list_instances(tx, node=hello.node)}
    told = {(i.uid, i.id) for i in hello.instances}
    for key, instance in stored.items():
        if instance.alive and key not in told:
            _put(tx, replace(instance, state="exited", reason=gone, at=max(instance.at, tx.now)))
    superseded = []
    for instance in hello.instances:
        ours = _theirs(tx, hello.node, instance.uid, instance.id)
        if ours:
            _put_newer(tx, instance, stored.get((instance.uid, instance.id)))
        if instance.alive and not (ours and _wanted(tx, instance)):
            superseded.append(instance.id)
            _wake_job(tx, instance.uid)
    return tuple(superseded)


def _theirs(tx: Tx, node: str, uid: str, instance: str) -> bool:
    """Whether this node may speak of this instance: it is known to run there, or room is claimed for it there.

    Or it was ordered there, and its job gave the room back before anybody heard of it.
    """
    known = next((i for i in nodes.list_instances(tx, uid=uid) if i.id == instance), None)
    if known is not None:
        return known.node == node
    if any(allocation.node == node for allocation in ledger.list_allocations(tx, uid=uid)):
        return True
    return resources.by_uid(tx, uid) is not None and any(
        effect.target == node and effect.request.get("instance") == instance for effect in effects.of(tx, uid)
    )


def _wanted(tx: Tx, instance: Instance) -> bool:
    """Whether room is claimed for it here, and its job has no other instance now unless it is being moved."""
    job = resources.by_uid(tx, instance.uid)
    if not isinstance(job, Job) or job.status.migration is not None:
        return isinstance(job, Job)
    return _claimed(tx, instance) and job.status.instance_id in (None, instance.id)


def _claimed(tx: Tx, instance: Instance) -> bool:
    claims = ledger.list_allocations(tx, uid=instance.uid)
    return any(claim.instance == instance.id and claim.node == instance.node for claim in claims)


def _put_newer(tx: Tx, instance: Instance, known: Instance | None) -> None:
    """What is older than what is stored changes nothing, and an end is final."""
    if known is not None and (not known.alive or RANK[instance.state] < RANK[known.state]):
        return
    if known != instance:
        _put(tx, instance)


def _put(tx: Tx, instance: Instance) -> None:
    nodes.put_instance(tx, instance)
    if not _wake_job(tx, instance.uid) and not instance.alive:
        nodes.drop_instances(tx, instance.uid)
    queue.enqueue(tx, Ref("node", instance.node))


def _wake_job(tx: Tx, uid: str) -> bool:
    """Whether there is one."""
    job = resources.by_uid(tx, uid)
    if job is not None:
        queue.enqueue(tx, job.ref)
    return job is not None


def _report(tx: Tx, node: str, seq: int, instance: Instance) -> StopJob | None:
    facts = nodes.facts(tx, node)
    if facts is None or seq <= facts.report_seq:
        return None
    ours = _theirs(tx, node, instance.uid, instance.id)
    if ours:
        known = next((i for i in nodes.list_instances(tx, uid=instance.uid) if i.id == instance.id), None)
        _put_newer(tx, instance, known)
    nodes.set_report_seq(tx, node, seq)
    may_live = not instance.alive or (ours and _claimed(tx, instance))
    return None if may_live or holds.find(tx) is not None else an_end_of(instance.id)


def _heartbeats(tx: Tx, beating: Sequence[str], quiet: frozenset[str]) -> None:
    for node in beating:
        nodes.heartbeat(tx, node)
        if node in quiet and resources.stands(tx, Ref("node", node)):
            queue.enqueue(tx, Ref("node", node))


def _disconnected(tx: Tx, node: str) -> None:
    nodes.set_connected(tx, node, connected=False)
    if resources.stands(tx, Ref("node", node)):
        queue.enqueue(tx, Ref("node", node))
