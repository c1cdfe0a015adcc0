"""The server's fleet view, kept up to date by the writer, planned on under the publishing lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from controllers.runtime.decision import Decision, Reserve
from controllers.runtime.seen import board_of, less_open, seen, spare_of
from controllers.scheduling import PLAIN, Scheduling
from placement import Amounts, Board, Claim, FleetView, NodeView
from resources.allocation import Allocation
from resources.canonical import Document
from resources.facts import NodeFacts
from resources.job import Job
from resources.node import Node
from resources.pool import Pool, PoolSpec
from resources.reservation import Reservation
from store import bookings, changes, ledger, nodes, placement_log, resources
from store.notes import BlocksChanged, DevicesSet, Gone, NodeReported, Released, Reserved, RoomSet, Written
from store.store import Store
from store.tx import Tx

FOLLOWED = frozenset({Written, Gone, Reserved, Released, RoomSet, DevicesSet, BlocksChanged, NodeReported})
"""Notes of what the view shows; most notes are of something else."""
Waiting = Job | Reservation
"""What looks for a place."""


class Fleet:
    """Everything here is read and changed under `store.publishing`, which the writer holds from before COMMIT until the
    view shows it.

    So a snapshot opened under the lock is never newer than the view.
    """

    def __init__(self, store: Store, scheduling: Scheduling = PLAIN) -> None:
        self.view = FleetView()
        self.scheduling = scheduling
        self._store = store
        self._nodes: dict[str, Node] = {}
        self._rooms: dict[str, dict[str, tuple[int, int]]] = {}
        self._facts: dict[str, NodeFacts] = {}
        self._blocks: dict[str, tuple[str, ...]] = {}
        self._boards: dict[str, Board | None] = {}
        self._pools: dict[str, PoolSpec] = {}
        self._tiers: dict[str, dict[str, str]] = {}
        self._homes: dict[str, str] = {}
        """By pool, the tier of nodes that name none."""
        self._gains: dict[str, int] = {}
        self._reserved: set[str] = set()
        """Ids of the claims that are stored."""
        self._ahead: dict[str, Allocation] = {}
        """Claims that are shown and not stored yet."""
        self._revision = 0
        self._placements = 0
        self._waiting: dict[str, dict[str, Waiting]] = {}
        self.gained: set[str] = set()
        """Pools that gained room since the set was last emptied."""
        self.touched: set[tuple[str, str]] = set()
        """Pools and nodes, as (kind, name), whose gauges moved since the set was last emptied."""

    def hydrate(self) -> None:
        """Read the whole store once, and follow its writer from there."""
        with self._store.publishing:
            with self._store.read() as tx:
                self._load(tx)
            self._store.subscribe(self._follow)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Held from view to decision, never over a commit."""
        with self._store.publishing:
            yield

    def assume(self, decision: Decision) -> tuple[Allocation, ...]:
        """Book the decision's claims before they are committed; what was not there before is returned."""
        assumed = []
        for claim in decision.claims:
            if isinstance(claim, Reserve) and self.view.claim(claim.allocation.id) is None:
                self.view.put_claim(seen(claim.allocation))
                self._ahead[claim.allocation.id] = claim.allocation
                assumed.append(claim.allocation)
        return tuple(assumed)

    def withdraw(self, assumed: Sequence[Allocation]) -> None:
        """The commit failed: the assumed claims are not there, unless a later pass over the key has stored them.

        That is a gain of room: who planned in the meantime saw the claims, and may have gone to sleep over them. The
        waker hears of it with the next commit, which the failed pass owes its key.
        """
        if assumed:
            with self._store.publishing:
                for allocation in assumed:
                    self._ahead.pop(allocation.id, None)
                    if allocation.id not in self._reserved:
                        self.view.drop_claim(allocation.id)
                        self._gain(allocation.pool)

    def capacity_revision(self, pool: str) -> int:
        return self._gains.get(pool, 0)

    def seen(self) -> Document:
        """What the view shows: the newest revision, the newest entry in the log of placements, claims ahead of both."""
        ahead = [_plain(seen(allocation)) for allocation in self._ahead.values()]
        return {"revision": self._revision, "placements": self._placements, **({"ahead": ahead} if ahead else {})}

    def waiting(self, pool: str) -> tuple[Waiting, ...]:
        """Jobs and reservations that wait for a place, by priority, then age."""
        return tuple(sorted(self._waiting.get(pool, {}).values(), key=_turn))

    def scratch(self) -> FleetView:
        """A copy of the view as it is now."""
        with self.planning():
            return self.view.copy()

    def line(self, pool: str) -> tuple[Reservation, ...]:
        """Reservations of the pool that wait, the oldest first."""
        found = [one for one in self._waiting.get(pool, {}).values() if isinstance(one, Reservation)]
        return tuple(
            sorted(found, key=lambda one: (one.status.waiting_since or one.created_at, one.created_at, one.uid))
        )

    def _load(self, tx: Tx) -> None:
        self._revision, self._placements = changes.head(tx), placement_log.head(tx)
        for pool in resources.list_all(tx, "pool"):
            assert isinstance(pool, Pool)
            self._pool(pool)
        self._rooms = ledger.all_rooms(tx)
        self._blocks = ledger.all_blocks(tx)
        self._boards = {node: board_of(found) for node, found in bookings.all_devices(tx).items()}
        self._facts = {facts.node: facts for facts in nodes.all_facts(tx)}
        for node in resources.list_all(tx, "node"):
            assert isinstance(node, Node)
            self._nodes[node.name] = node
            self._show(node.name)
        for allocation in ledger.list_allocations(tx):
            self._reserved.add(allocation.id)
            self.view.put_claim(seen(allocation))
        for job in (*resources.list_all(tx, "job"), *resources.list_all(tx, "reservation")):
            assert isinstance(job, Job | Reservation)
            self._job(job)

    def _follow(self, notes: Sequence[object]) -> None:
        for note in (note for note in notes if type(note) in FOLLOWED):
            match note:
                case Written(resource=resource):
                    self._revision = max(self._revision, resource.resource_version)
                case Gone(revision=revision):
                    self._revision = max(self._revision, revision)
                case DevicesSet(number=number) | Reserved(number=number) | Released(number=number):
                    self._placements = max(self._placements, number)
                case _:
                    pass
            match note:
                case Written(resource=Node() as node):
                    self._nodes[node.name] = node
                    self._show(node.name)
                case Written(resource=Pool() as pool):
                    self._pool(pool)
                case Written(resource=(Job() | Reservation()) as job):
                    self._job(job)
                case Gone(resource=gone):
                    self._forget(gone)
                case Reserved(allocation=allocation):
                    self._reserved.add(allocation.id)
                    self._ahead.pop(allocation.id, None)
                    self.view.put_claim(seen(allocation))
                    self._touch(allocation)
                case Released(allocation=allocation):
                    self._reserved.discard(allocation.id)
                    self.view.drop_claim(allocation.id)
                    self._touch(allocation)
                    self._gain(allocation.pool)
                case RoomSet(node=name, room=room):
                    self._rooms[name] = room
                    self._show(name)
                case DevicesSet(node=name, devices=devices):
                    self._boards[name] = board_of(devices)
                    self.touched.add(("node", name))
                    self._show(name)
                case BlocksChanged(node=name, reasons=reasons):
                    self._blocks[name] = reasons
                    self.touched.add(("node", name))
                    self._show(name)
                case NodeReported(facts=facts):
                    self._facts[facts.node] = facts
                    self._show(facts.node)
                case _:
                    pass
        self.gained -= {pool for pool in self.gained if not self._waiting.get(pool)}

    def _pool(self, pool: Pool) -> None:
        """A pool's own gauges are no gain of room."""
        if self._pools.get(pool.name) != pool.spec:
            self._pools[pool.name] = pool.spec
            self._tiers[pool.name] = {tier.name: tier.kind for tier in pool.spec.tiers}
            fixed = pool.spec.fixed_tier
            self._homes[pool.name] = "" if fixed is None else fixed.name
            self._gain(pool.name)
            for node in [node for node in self._nodes.values() if node.spec.pool == pool.name]:
                self._show(node.name)

    def _job(self, job: Waiting) -> None:
        for waiting in self._waiting.values():
            waiting.pop(job.uid, None)
        if job.status.phase == "pending" and not job.deleting and not (isinstance(job, Job) and job.status.node):
            self._waiting.setdefault(job.spec.pool, {})[job.uid] = job
        self.touched.add(("pool", job.spec.pool))

    def _forget(self, gone: Any) -> None:
        match gone:
            case Node():
                self._nodes.pop(gone.name, None)
                self._rooms.pop(gone.name, None)
                self._facts.pop(gone.name, None)
                self._blocks.pop(gone.name, None)
                self._boards.pop(gone.name, None)
                self.view.remove_node(gone.name)
                self.touched.add(("pool", gone.spec.pool))
            case Pool():
                self._pools.pop(gone.name, None)
            case Job() | Reservation():
                self._waiting.get(gone.spec.pool, {}).pop(gone.uid, None)
                self.touched.add(("pool", gone.spec.pool))
            case _:
                pass

    def _touch(self, allocation: Allocation) -> None:
        self.touched.update({("pool", allocation.pool), ("node", allocation.node)})

    def _gain(self, pool: str) -> None:
        self._gains[pool] = self._gains.get(pool, 0) + 1
        self.gained.add(pool)

    def _show(self, name: str) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        seen_node = self._view_of(node)
        before = self.view.node(name)
        self.view.put_node(seen_node)
        after = self.view.node(name)
        if before != after:
            self.touched.add(("pool", node.spec.pool))
            if before is None or after is None or not less_open(before, after):
                self._gain(node.spec.pool)

    def _view_of(self, node: Node) -> NodeView:
        room = self._rooms.get(node.name, {})
        facts = self._facts.get(node.name)
        blocks = self._blocks.get(node.name, ())
        tiers = self._tiers.get(node.spec.pool, {})
        tier = node.spec.tier or self._homes.get(node.spec.pool, "")
        return NodeView(
            name=node.name,
            pool=node.spec.pool,
            tier=tier,
            zone=node.status.zone or node.spec.zone or (facts.inventory.zone if facts else ""),
            cloud=tiers.get(tier, ""),
            booted=facts is not None,
            labels={
                key: (value, "system" if key.startswith("rmctl/") else "person") for key, value in node.labels.items()
            },
            no_schedule=blocks if room else tuple(dict.fromkeys((*blocks, "no inventory"))),
            capacity=Amounts(*(room.get(resource, (0, 0))[1] for resource in ("vcpu", "cores", "memory"))),
            images=frozenset(facts.inventory.images) if facts else frozenset(),
            board=self._boards.get(node.name),
            spare=spare_of(node.spec, node.status),
        )


def _plain(claim: Claim) -> Document:
    """As JSON keeps it."""
    plain = {**claim._asdict(), "amounts": list(claim.amounts), "ports": list(claim.ports)}
    return {**plain, "devices": [list(device) for device in claim.devices]}


def _turn(waiting: Waiting) -> tuple[int, float]:
    priority = waiting.spec.priority if isinstance(waiting, Job) else 0
    return -priority, waiting.status.waiting_since or waiting.created_at
