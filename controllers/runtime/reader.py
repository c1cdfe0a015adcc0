"""What `observe` reads: one snapshot of the store, and the fleet view beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllers.runtime.fleet import Fleet
from controllers.scheduling import Scheduling
from placement import FleetView
from resources.allocation import Allocation
from resources.devices import Device
from resources.effect import EffectRecord
from resources.facts import Instance, NodeFacts
from resources.job import Job
from resources.node import NoSchedule
from resources.reference import Ref
from resources.resource import Resource
from store import backlog, bookings, effects, ledger, nodes, resources
from store.pauses import PAUSED
from store.tx import Tx

SILENT = frozenset({"silent", "lost"})


class SnapshotReader:
    """Lives as long as its transaction."""

    def __init__(self, tx: Tx, fleet: Fleet, server_started_at: float) -> None:
        self.now = tx.now
        self.server_started_at = server_started_at
        self._tx = tx
        self._fleet = fleet

    def find(self, ref: Ref) -> Resource[Any, Any] | None:
        return resources.find(self._tx, ref)

    def owned(self, uid: str, kind: str | None = None) -> Sequence[Resource[Any, Any]]:
        return tuple(r for r in resources.owned(self._tx, uid) if kind is None or r.ref.kind == kind)

    def by_label(self, kind: str, key: str, value: str, project: str | None = None) -> Sequence[Resource[Any, Any]]:
        return resources.labelled(self._tx, kind, key, value, project)

    def allocations(
        self, *, uid: str | None = None, node: str | None = None, pool: str | None = None
    ) -> Sequence[Allocation]:
        return ledger.list_allocations(self._tx, uid=uid, node=node, pool=pool)

    def instances(self, *, uid: str | None = None, node: str | None = None) -> Sequence[Instance]:
        return nodes.list_instances(self._tx, uid=uid, node=node)

    def facts(self, node: str) -> NodeFacts | None:
        return nodes.facts(self._tx, node)

    def devices(self, node: str) -> Sequence[Device]:
        return bookings.devices_of(self._tx, node)

    def effects(self, uid: str) -> Sequence[EffectRecord]:
        return effects.of(self._tx, uid)

    def refusals(self, node: str, since: float) -> Sequence[EffectRecord]:
        return effects.refused_by(self._tx, node, since)

    def ended_at_once(self, node: str, since: float, within: float) -> Sequence[Instance]:
        return nodes.ended_at_once(self._tx, node, since, within)

    def blocks(self, node: str) -> Sequence[NoSchedule]:
        rows = ledger.block_rows(self._tx, node)
        return tuple(NoSchedule(reason=row.reason, by=row.cause, since=row.since) for row in rows)

    def nodes(self, pool: str) -> Sequence[Resource[Any, Any]]:
        return tuple(node for node in resources.list_all(self._tx, "node") if node.spec.pool == pool)

    def silent_nodes(self, pool: str) -> Sequence[str]:
        return tuple(node.name for node in self.nodes(pool) if node.status.phase in SILENT)

    def waiting_jobs(self, pool: str) -> int:
        return sum(isinstance(one, Job) for one in self._fleet.waiting(pool))

    def capacity_revision(self, pool: str) -> int:
        return self._fleet.capacity_revision(pool)

    def line(self, pool: str, own: Ref) -> tuple[Sequence[Resource[Any, Any]], Ref | None]:
        busy = backlog.busy(self._tx, own.kind) - {own}
        line = [one for one in self._fleet.line(pool) if PAUSED not in one.annotations or one.ref == own]
        refs = [one.ref for one in line]
        before = refs[: refs.index(own)] if own in refs else refs
        return tuple(one for one in line if one.ref not in busy), next((ref for ref in before if ref in busy), None)

    def scheduling(self) -> Scheduling:
        return self._fleet.scheduling

    def fleet(self) -> FleetView:
        return self._fleet.view
