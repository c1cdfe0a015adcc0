"""A machine that was taken for one job alone: it goes when that job and its group have left it."""

from __future__ import annotations

from collections.abc import Sequence

from controllers.runtime.controller import Reader
from resources.allocation import Allocation
from resources.effect import Effect
from resources.job import Job
from resources.names import people
from resources.node import Node, Terminate


def users(allocations: Sequence[Allocation], reader: Reader) -> tuple[str, ...]:
    """Jobs here that want the machine to go with them; only those that hold a node for themselves can."""
    jobs = (reader.find(claim.owner) for claim in allocations if claim.exclusive)
    return tuple(sorted(people(job.name) for job in jobs if isinstance(job, Job) and job.spec.single_use))


def taken_for(node: Node, here: Sequence[str]) -> str | None:
    """The job that this machine was taken for. A machine that registered itself is nobody's to end."""
    if node.spec.provider == "agent":
        return None
    return node.status.single_use or next(iter(here), None)


def ending(node: Node, job: str | None, allocations: Sequence[Allocation], now: float) -> Terminate | None:
    """Issued once, when nothing is left on it, however its job left."""
    if node.status.terminate is not None or job is None or allocations:
        return node.status.terminate
    return Terminate(issued_at=now, reason=f"singleUse: {job} has left")


def termination(node: Node) -> Effect:
    """What ends the machine of a node, asked of whoever launched it."""
    request = {"providerId": node.status.provider_id, "node": node.name}
    return Effect("Terminate", "terminate/1", node.spec.provider, request, target=node.name)
