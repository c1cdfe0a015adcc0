"""What an earlier agent left behind in an instance's folder: a living job, an end, or a start that never was."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace

from agent.burial import bury
from agent.folder import ExitFile, Folder
from agent.order import Order, from_document
from agent.processes import boot_id
from resources.facts import Instance

POLL_SECONDS = 0.01


@dataclass(frozen=True)
class Found:
    """`facts` is as much as the files say; exited when nothing of it lives."""

    order: Order
    facts: Instance


def first_facts(order: Order, node: str) -> Instance:
    """An instance that is about to be started."""
    return Instance(
        uid=order.job_uid,
        id=order.instance,
        key=order.instance_key,
        node=node,
        attempt=order.attempt,
        state="starting",
        ports=order.ports,
        at=time.time(),
        job=order.job,
    )


def exited(facts: Instance, end: ExitFile) -> Instance:
    return replace(facts, state="exited", **asdict(end))


def look(folder: Folder, node: str) -> Found | None:
    """None when nothing ever ran. Blocks while a shim is between its own start and its job's."""
    document = folder.order()
    if document is None:
        return None
    order = from_document(document)
    alive = _settled(folder)
    job = folder.job()
    if job is None:
        return None
    facts = replace(first_facts(order, node), state="running", pid=job.pid, started_at=job.at, at=job.at)
    ready_at = folder.ready_at()
    if ready_at is not None:
        facts = replace(facts, state="ready", ready_at=ready_at, at=ready_at)
    if not alive:
        return Found(order, exited(facts, bury(folder)))
    if folder.stop_asked:
        facts = replace(facts, state="stopping", at=time.time())
    return Found(order, facts)


def _settled(folder: Folder) -> bool:
    """Whether its shim lives, once that is certain: the job is written down before it may run."""
    while folder.exit() is None and folder.held():
        shim = folder.shim()
        if shim is not None and shim.boot_id == boot_id() and folder.job() is not None:
            return True
        time.sleep(POLL_SECONDS)
    return False
