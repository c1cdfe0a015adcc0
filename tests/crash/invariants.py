"""What must hold after a kill, a restart and some quiet: read from the store, the outside and the client's notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resources import conditions
from resources.canonical import canonical
from resources.registry import BY_NAME
from resources.resource import Resource
from store import effects, ledger, queue, resources
from store.tx import Tx
from tests.crash.life import NODES, Life
from tests.crash.stories import BUNDLE, GONE


def settled(life: Life) -> bool:
    """Nothing is due, claimed, failing, unanswered or on its way."""
    if any(life.outside.next_report(node) is not None for node in NODES):
        return False
    assert life.store is not None
    with life.store.read() as tx:
        now = life.scheduler.now
        rows = queue.list_all(tx)
        open_effects = [record for record in effects.list_all(tx) if not record.final]
        stored = _all(tx)
        busy = any(row.errors or row.expires_at is not None or row.available_at <= now + 0.6 for row in rows)
        jobs_wait = any(_ready(job) != "True" for job in stored if job.ref.kind == "job")
    unseen = any(r.status.observed_generation != r.generation for r in stored)
    return not (busy or open_effects or unseen or jobs_wait or any(r.deleting for r in stored))


def broken(life: Life, wants: Sequence[str], before: str) -> Iterator[str]:
    """Every promise that does not hold. `before` is what was acknowledged before the story began."""
    assert life.store is not None
    with life.store.read() as tx:
        yield from _specs(life, tx, wants, before)
        yield from _seen(tx)
        yield from _ledger(tx)
        jobs = {job.uid: job for job in resources.list_all(tx, "job")}
        (health,) = tx.connection.exec_driver_sql("PRAGMA integrity_check").one()
    if health != "ok":
        yield f"CORRUPT {health}"
    living = life.outside.living()
    for uid, instances in living.items():
        if uid not in jobs:
            yield f"LEAK {instances} have no owner"
        elif len(instances) > 1:
            yield f"TWO {instances} live"
    for uid, job in jobs.items():
        if living.get(uid, []) != [job.status.instance_id]:
            yield f"WRONG_LIVE {job.ref} says {job.status.instance_id}, alive are {living.get(uid)}"
    for instance, times in life.outside.starts():
        if times > 1:
            yield f"DUPLICATE {instance} was started {times} times"
    for effect in life.outside.unrecorded():
        yield f"UNRECORDED {effect}"


def acknowledged(life: Life) -> list[str]:
    path = life.folder / "acknowledged"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _specs(life: Life, tx: Tx, wants: Sequence[str], before: str) -> Iterator[str]:
    """The stored spec is the last that was acknowledged, or the one that was under way."""
    told = acknowledged(life)
    allowed = {told[-1] if told else before, *wants[len(told) : len(told) + 1]}
    found = resources.find(tx, BUNDLE)
    have = GONE if found is None else canonical(found.document)
    if have not in allowed:
        yield f"LOST_SPEC stored {have}, acknowledged {told[-1:]}"


def _seen(tx: Tx) -> Iterator[str]:
    for resource in _all(tx):
        if resource.status.observed_generation != resource.generation:
            yield f"OBSERVED {resource.ref} {resource.status.observed_generation} of {resource.generation}"
        if resource.deleting:
            yield f"STUCK {resource.ref} is being deleted"
        if _ready(resource) != "True":
            yield f"NOT_READY {resource.ref}: {conditions.find(resource.status.conditions, 'Ready')}"
    for row in queue.list_all(tx):
        if row.errors or row.expires_at is not None or row.available_at <= tx.now:
            yield f"QUEUE {row.kind}/{row.name} errors {row.errors} due {row.available_at - tx.now:.3f}"
    for record in effects.list_all(tx):
        if not record.final:
            yield f"OPEN_EFFECT {record.id} {record.state}"


def _ledger(tx: Tx) -> Iterator[str]:
    rolled = {resource: claimed for resource, (_, claimed) in ledger.rollup(tx, "default").items()}
    summed = ledger.summed(tx, "default")
    if any(summed[resource] != rolled.get(resource, 0) for resource in summed):
        yield f"ROLLUP {rolled} is not {summed}"
    uids = {job.uid for job in resources.list_all(tx, "job")}
    for allocation in ledger.list_allocations(tx):
        if allocation.uid not in uids:
            yield f"CLAIM {allocation.id} has no owner"


def _all(tx: Tx) -> list[Resource]:  # type: ignore[type-arg]
    return [resource for kind in BY_NAME for resource in resources.list_all(tx, kind)]


def _ready(resource: Resource) -> str:  # type: ignore[type-arg]
    found = conditions.find(resource.status.conditions, "Ready")
    return "" if found is None else found.status
