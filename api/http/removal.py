"""`POST …/PLURAL/NAME/removal`: a record goes at once, whatever it promised to clean up; what may be left is told."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange, rules
from api.http.problems import conflict, not_found
from api.http.threads import Threads
from api.http.waking import any_name, on_each
from resources.canonical import Document
from resources.reference import Ref
from resources.resource import Resource
from store import by_hand, forced, ledger, nodes, resources, salvage
from store.tx import Tx

Stored = Resource[Any, Any]


class Removal:
    """The endpoint of `rmctl delete --force`."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def routes(self) -> list[Route]:
        return [Route(path, self.remove, methods=["POST"]) for path in on_each("removal")]

    async def remove(self, request: Request) -> Response:
        ref = any_name(request)
        body = await exchange.document(request)
        reason = audit.reason_of(body)
        uid = body.get("uid")
        by = exchange.caller(request).name
        return exchange.answer(await self._threads.write(lambda tx: _removed(tx, ref, uid, reason, by)))


def _removed(tx: Tx, ref: Ref, uid: object, reason: str, by: str) -> Document:
    """Children first. Raises NotFound, a conflict for another uid, and the refusals of any deletion."""
    salvage.mend(tx, ref)
    live = resources.find(tx, ref)
    if live is None:
        raise not_found(ref)
    if uid is not None and uid != live.uid:
        raise conflict(ref, f"is another one now (have uid {uid}, now {live.uid})")
    if not live.deleting:
        rules.deletion(tx, live)
    left: list[Document] = []
    for one in (*resources.owned(tx, live.uid), live):
        left += _one(tx, one, reason, by)
    return {"kind": "Removal", "apiVersion": "rmctl/v1", "for": str(ref), "uid": live.uid, "left": left}


def _one(tx: Tx, resource: Stored, reason: str, by: str) -> list[Document]:
    """What may be left of it in the world. Its room is given back; a process that runs on is told by the audit."""
    left: list[Document] = [
        {"effect": one.id, "kind": one.kind, "target": one.target, "state": one.state}
        for one in by_hand.abandon(tx, resource.uid, f"given up by {by}: {reason}")
    ]
    left += [
        {"instance": instance.id, "node": instance.node, "pid": instance.pid}
        for instance in nodes.list_instances(tx, uid=resource.uid)
        if instance.alive
    ]
    for allocation in ledger.list_allocations(tx, uid=resource.uid):
        ledger.release(tx, allocation.id)
    audit.append(
        tx,
        resource.ref,
        resource.uid,
        "removed by force",
        by=by,
        reason=reason,
        finalizers=list(resource.finalizers),
        left=left[:100],
    )
    current = resources.by_uid(tx, resource.uid)
    if current is not None:
        forced.remove(tx, current)
    return [{"of": str(resource.ref), **one} for one in left]
