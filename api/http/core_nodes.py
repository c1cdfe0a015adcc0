"""The endpoints of core kinds that are no events: nodes, and the refusal of what is not here."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, core, exchange, lists, patches, queries, tables, writes
from api.http.endpoints import how_of, included
from api.http.lookups import Everything
from api.http.problems import Problem
from api.http.services import Services
from api.http.showing import show
from api.http.strict_json import loads
from api.http.threads import Threads
from resources.canonical import Document
from resources.reference import Ref
from resources.registry import BY_NAME
from store import resources
from store.tx import Tx

NODES = ("/api/v1/nodes", "/api/v1/nodes/{name}")
SERVICES = ("/api/v1/services", "/api/v1/namespaces/{project}/services")
NAMESPACES = ("/api/v1/namespaces", "/api/v1/namespaces/{project}")


class CoreNodes:
    """Of nodes: list, get and patch; everything else of a node is in nodes.rmctl."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route("/api/v1/nodes", self.collection, methods=["GET"]),
            Route("/api/v1/nodes/{name}", self.one, methods=["GET", "PATCH"]),
            *(Route(path, self.otherwise, methods=["POST", "PUT", "DELETE"]) for path in NODES),
            *(Route(path, self.services, methods=["GET"]) for path in SERVICES),
            *(Route(path, self.namespaces, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]) for path in NAMESPACES),
            Route("/api/v1/pods", self.pods),
            Route("/api/v1/namespaces/{project}/pods", self.pods),
            Route("/api/v1/namespaces/{project}/pods/{name}", self.pods),
        ]

    async def collection(self, request: Request) -> Response:
        listing = queries.listing(request.query_params, "core/nodes")
        page = await self._threads.read(lambda tx: lists.page(tx, BY_NAME["node"], None, listing))
        metadata: Document = {"resourceVersion": str(page.revision)}
        if page.token:
            metadata["continue"] = page.token
        if tables.wanted(request.headers.get("accept", "")):
            return exchange.answer(self._table(request, page.documents, metadata))
        items = [core.core_node(item) for item in page.documents]
        return exchange.answer({"kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": items})

    async def one(self, request: Request) -> Response:
        ref = Ref("node", request.path_params["name"])
        if request.method == "GET":
            document = await self._threads.read(lambda tx: show(tx, resources.get(tx, ref)))
        else:
            document = await self._patch(request, ref)
        if tables.wanted(request.headers.get("accept", "")):
            return exchange.answer(self._table(request, [document], {}))
        return exchange.answer(core.core_node(document))

    async def otherwise(self, _request: Request) -> Response:
        hint = "kubectl delete nodes.rmctl NODE removes the record of one"
        raise Problem(405, "MethodNotAllowed", f"core nodes are read, cordoned and labelled: {hint}", hint=hint)

    async def services(self, request: Request) -> Response:
        """There are none: `kubectl cluster-info` looks for those of the cluster."""
        if tables.wanted(request.headers.get("accept", "")):
            return exchange.answer(tables.of_rows(("Name",), (), {}))
        return exchange.answer({"kind": "ServiceList", "apiVersion": "v1", "metadata": {}, "items": []})

    async def namespaces(self, _request: Request) -> Response:
        message = (
            "namespaces are the projects of resources, and none is made or deleted by itself: -n PROJECT names one"
        )
        raise Problem(405, "MethodNotAllowed", message)

    async def pods(self, _request: Request) -> Response:
        raise core.pods_refused()

    async def _patch(self, request: Request, ref: Ref) -> Document:
        how = how_of(request)
        media = exchange.media_type(request)
        if media not in (patches.MERGE, patches.STRATEGIC, patches.JSON):
            raise queries.unsupported_media(media, (patches.MERGE, patches.STRATEGIC, patches.JSON))
        caller = exchange.caller(request)
        patch = core.changed(patches.changes(media, loads(await exchange.body(request))))

        def carried_out(tx: Tx) -> Document:
            written = writes.change(tx, ref, patch, how, Everything(tx))
            audit.wrote(tx, caller, written.resource, written.outcome, spec_moved=written.spec_moved)
            return show(tx, written.resource)

        return await self._threads.write(carried_out, dry_run=how.dry_run)

    def _table(self, request: Request, documents: list[Document], metadata: Document) -> Document:
        return core.table(documents, now=self._services.now(), include=included(request), metadata=metadata)
