"""The HTTP application: every route behind one door, and every error answered as a Status."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import access, exchange, operations
from api.http.audit import Refusals
from api.http.batch import Batch
from api.http.core_events import CoreEvents
from api.http.core_nodes import CoreNodes
from api.http.door import Door, guarded
from api.http.endpoints import ROOT, Endpoints
from api.http.hub import Hub
from api.http.lending import Lending
from api.http.logs import Logs
from api.http.metrics import Metrics
from api.http.pages.routes import Pages
from api.http.planning import Planning
from api.http.problems import Problem
from api.http.records import Records
from api.http.runs import Runs
from api.http.server import ServerRoutes
from api.http.services import Services
from api.http.threads import Threads
from api.http.users import Users
from api.http.webhooks import Webhooks
from api.http.why_route import Why
from resources.kind import SourceChanged, Undefined
from resources.validation import Invalid
from store.errors import StoreError

REFUSALS = (Problem, Invalid, Undefined, SourceChanged, StoreError, HTTPException, Exception)


def build(services: Services) -> Starlette:
    """The application. `app.state.hub.close()` ends every open stream: call it first when the server stops."""
    threads = Threads(services.store)
    hub = Hub(services.store)
    metrics = Metrics(services, threads, hub)
    refusals = Refusals(threads)
    records = Records(threads, hub)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        hub.close()
        threads.close()

    routes = [
        *ServerRoutes(services, threads, hub).routes(),
        *Users(services, threads).routes(),
        *access.routes(),
        *Pages(services, threads).routes(),
        *metrics.routes(),
        *records.routes(),
        Route(f"{ROOT}/batch", Batch(services, threads).post, methods=["POST"]),
        *Planning(services, threads).routes(),
        *Why(services, threads).routes(),
        *Logs(threads, hub).routes(),
        *Webhooks(services, threads).routes(),
        *Runs(threads).routes(),
        *Lending(services, threads).routes(),
        *operations.routes(services, threads),
        *CoreNodes(services, threads).routes(),
        *CoreEvents(services, threads, records).routes(),
        *Endpoints(services, threads, hub).routes(),
    ]
    app = Starlette(
        routes=[guarded(route, refusals) for route in routes],
        exception_handlers=dict.fromkeys(REFUSALS, refused),
        lifespan=life,
    )
    app.state.hub = hub
    app.state.threads = threads
    app.add_middleware(Door, services=services, threads=threads, metrics=metrics, refusals=refusals)
    return app


async def refused(_request: Request, error: Exception) -> Response:
    return exchange.refusal(exchange.problem_of(error))
