"""The commands that come next for a resource, as `rmctl why` and its page name them."""

from __future__ import annotations

from typing import Any

from resources import conditions
from resources.names import shown
from resources.reference import Ref
from resources.resource import Resource
from store import resources
from store.tx import Tx

Stored = Resource[Any, Any]
OUT_OF_REACH = ("silent", "lost")


def of_job(tx: Tx, job: Stored) -> tuple[str, ...]:
    """Where its node cannot be heard that comes first: nothing else can be done about the job meanwhile."""
    name = shown("job", job.name).partition("/")[2]
    node = resources.find(tx, Ref("node", job.status.node)) if job.status.node else None
    ready = conditions.find(job.status.conditions, "Ready")
    if node is not None and node.status.phase in OUT_OF_REACH and (ready is None or ready.status != "True"):
        return (f"rmctl describe {node.ref}", given_up(node.name))
    stalled = conditions.find(job.status.conditions, "Stalled")
    if stalled is not None and stalled.status == "True" and stalled.reason == "InvalidSpec":
        return (f"rmctl edit bundle/{job.spec.bundle}", f"rmctl restart bundle/{job.spec.bundle}")
    match ready.reason if ready else "":
        case "NoFit" if not any(node.spec.pool == job.spec.pool for node in resources.list_all(tx, "node")):
            return (f"rmctl node join NAME --pool {job.spec.pool}",)
        case "NoFit" | "Provisioning":
            return (f"rmctl edit bundle/{job.spec.bundle}", f"rmctl edit pool/{job.spec.pool}")
        case "CrashLooping" | "Recovering" | "Broken" | "Dropped":
            return (f"rmctl logs {name} --previous", f"rmctl restart bundle/{job.spec.bundle}")
        case "Dormant":
            return (f"rmctl start {name}",)
        case _:
            return (f"rmctl logs {name} -f",) if job.status.node else (f"rmctl describe {job.ref}",)


def of_node(node: Stored) -> tuple[str, ...]:
    if node.status.phase in OUT_OF_REACH and not node.status.given_up:
        return (given_up(node.name),)
    return (f"rmctl uncordon {node.name}",) if node.spec.cordoned else (f"rmctl describe {node.ref}",)


def given_up(node: str) -> str:
    return f"rmctl node lost {node}   # if it will not come back"
