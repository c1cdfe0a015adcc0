"""`POST …/PLURAL/NAME/reconcile` and `POST /queue/rebuild`: passes that people ask for."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT, ref_of
from api.http.threads import Threads
from resources.canonical import Document
from resources.names import job_key
from resources.reference import Ref
from store import backlog, queue, resources
from store.tx import Tx


def any_name(request: Request) -> Ref:
    """The resource of a path; a job by either of its names."""
    ref = ref_of(request)
    key = job_key(ref.name) if ref.kind == "job" else None
    return ref._replace(name=key.wire) if key else ref


def on_each(action: str) -> tuple[str, str]:
    """The paths of an action on one resource: inside a project, and for kinds that are in none."""
    return (f"{ROOT}/namespaces/{{project}}/{{plural}}/{{name}}/{action}", f"{ROOT}/{{plural}}/{{name}}/{action}")


class Waking:
    """The endpoints of `rmctl reconcile` and `rmctl repair queue`."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            *(Route(path, self.reconcile, methods=["POST"]) for path in on_each("reconcile")),
            Route(f"{ROOT}/queue/rebuild", self.rebuild, methods=["POST"]),
        ]

    async def reconcile(self, request: Request) -> Response:
        """A pass is due now, whatever the key waited for."""
        ref = any_name(request)
        await exchange.body(request)

        def wake(tx: Tx) -> Document:
            found = resources.get(tx, ref)
            queue.enqueue(tx, ref)
            return {"kind": ref.kind, "name": ref.name, "project": ref.project, "generation": found.generation}

        return exchange.answer(await self._threads.write(wake), 202)

    async def rebuild(self, request: Request) -> Response:
        await exchange.body(request)
        by = exchange.caller(request).name

        def rebuild(tx: Tx) -> Document:
            woken, dropped = backlog.rebuild(tx)
            audit.of_the_server(tx, "rebuilt the queue", by=by, woken=woken, dropped=dropped)
            return {"kind": "QueueRebuilt", "apiVersion": "rmctl/v1", "woken": woken, "dropped": dropped}

        return exchange.answer(await self._threads.write(rebuild))
