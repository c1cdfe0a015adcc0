"""Committing a decision: everything that a pass concluded, in the caller's one transaction."""

from __future__ import annotations

from typing import Any

from controllers.runtime.decision import Apply, Block, Decision, Delete, Release, Reserve, Unblock
from resources.allocation import Allocation
from resources.canonical import Document
from resources.effect import EFFECTS_FINALIZER
from resources.resource import Resource, Status
from store import applied, bookings, effects, events, ledger, queue, resources
from store.errors import Short, StoreError
from store.queue import Claim
from store.tx import Tx

CONTROLLER = "controller"
"""The field manager of what controllers apply to their children."""


def commit(tx: Tx, claim: Claim, resource: Resource[Any, Any], decision: Decision) -> None:
    """Fenced by the claim and by the version that was read, by the last statements that it runs.

    Raises ClaimLost, Conflict, Short, EffectMismatch; then nothing is stored.
    """
    if resource.deleting:
        queue.hold(tx, claim)
    try:
        stored = _store(tx, resource, decision)
    except StoreError:
        resources.check(tx, resource)
        raise
    if resources.remove_if_free(tx, stored):
        return
    if decision.requeue_after is None:
        queue.settle(tx, claim)
    else:
        queue.requeue(tx, claim, decision.requeue_after)


def _store(tx: Tx, resource: Resource[Any, Any], decision: Decision) -> Resource[Any, Any]:
    """What a decision on an older version runs into is a conflict, whatever it is."""
    for room in decision.rooms:
        ledger.set_room(tx, room.node, room.pool, dict(room.amounts))
        bookings.set_devices(tx, room.node, room.devices)
    for block in decision.blocks:
        _block(tx, block)
    for change in decision.claims:
        match change:
            case Release(allocation_id=allocation):
                ledger.release(tx, allocation)
            case Reserve(allocation=allocation_, labels=labels):
                _for_somebody_there(tx, resource, allocation_)
                ledger.reserve(tx, allocation_, labels)
    for key in decision.cancel:
        effects.unwant(tx, resource.uid, key)
    wanted = [effects.record(tx, resource, effect) for effect in decision.effects]
    for child in decision.children:
        _child(tx, resource, child)
    numbers = [events.add(tx, resource.ref, resource.uid, event) for event in decision.events]
    status = decision.status
    if decision.cite is not None and isinstance(status, Status):
        cited = numbers[decision.events.index(decision.cite)]
        status = status.model_copy(update={"decision": str(cited)})
    finalizers = _finalizers(tx, resource, decision, opened=any(not effect.final for effect in wanted))
    stored = resources.replace_status(tx, resource, status, finalizers=finalizers)
    for ref in decision.wake:
        queue.enqueue(tx, ref)
    return stored


def _finalizers(tx: Tx, resource: Resource[Any, Any], decision: Decision, *, opened: bool) -> tuple[str, ...]:
    """What the decision says, and the runtime's own while an effect is open."""
    wanted = resource.finalizers if decision.finalizers is None else decision.finalizers
    kept = tuple(name for name in wanted if name != EFFECTS_FINALIZER)
    held = EFFECTS_FINALIZER in resource.finalizers
    if held and not opened:
        opened = effects.any_open(tx, resource.uid)
    return (*kept, EFFECTS_FINALIZER) if opened else kept


def _for_somebody_there(tx: Tx, resource: Resource[Any, Any], allocation: Allocation) -> None:
    """Raises Short where a reservation that this pass placed beside its own has changed or gone since."""
    if allocation.owner.kind != "reservation" or allocation.uid == resource.uid:
        return
    other = resources.by_uid(tx, allocation.uid)
    planned = int(allocation.id.rsplit(".", 2)[1])
    if other is None or other.deleting or other.generation != planned:
        raise Short(allocation.node, f"{allocation.owner} has changed or gone")


def _block(tx: Tx, change: Block | Unblock) -> None:
    match change:
        case Block(node=node, reason=reason, cause=cause):
            ledger.block(tx, node, reason, cause)
        case Unblock(node=node, reason=reason, cause=cause):
            ledger.unblock(tx, node, reason, cause)


def _child(tx: Tx, owner: Resource[Any, Any], change: Apply | Delete) -> None:
    found = resources.find(tx, change.ref)
    match change:
        case Delete():
            if found is not None and found.owner == owner.uid:
                resources.request_deletion(tx, found)
        case Apply() if found is None:
            made = resources.create(
                tx,
                change.ref,
                {**change.initial, **change.spec},
                labels=change.labels,
                finalizers=change.finalizers,
                owner=owner.uid,
            )
            applied.put(tx, made.uid, CONTROLLER, {"spec": change.spec})
        case Apply() if found.owner == owner.uid and not found.deleting:
            _reapply(tx, found, change)
        case Apply():
            return


def _reapply(tx: Tx, found: Resource[Any, Any], change: Apply) -> None:
    """Fields that others set stay; fields that were applied before and are gone now go."""
    last: Document = (applied.find(tx, found.uid, CONTROLLER) or {}).get("spec", {})
    kept = {key: value for key, value in found.document.items() if key not in last}
    stored = resources.replace(tx, found, document={**kept, **change.spec}, labels={**found.labels, **change.labels})
    if stored is not found:
        applied.put(tx, found.uid, CONTROLLER, {"spec": change.spec})
