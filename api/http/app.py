"""The HTTP application: every route behind one door that knows the caller and answers every error as a Status."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http import exchange, operations
from api.http.batch import Batch
from api.http.core_nodes import CoreNodes
from api.http.endpoints import ROOT, Endpoints
from api.http.hub import Hub
from api.http.logs import Logs
from api.http.metrics import Metrics
from api.http.planning import Planning
from api.http.problems import Problem
from api.http.records import Records
from api.http.server import ServerRoutes
from api.http.services import Caller, Services
from api.http.threads import Threads
from api.http.why_route import Why
from resources.validation import Invalid
from store.errors import StoreError

OPEN = ("/healthz", "/livez", "/readyz")
"""Answered to anyone who can reach the listener."""
OWNER = Caller("owner")


def build(services: Services) -> Starlette:
    """The application. `app.state.hub.close()` ends every open stream: call it first when the server stops."""
    threads = Threads(services.store)
    hub = Hub(services.store)
    metrics = Metrics(services, threads, hub)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        hub.close()
        threads.close()

    app = Starlette(
        routes=[
            *ServerRoutes(services, threads, hub).routes(),
            *metrics.routes(),
            *Records(threads, hub).routes(),
            Route(f"{ROOT}/batch", Batch(threads).post, methods=["POST"]),
            *Planning(services, threads).routes(),
            *Why(services, threads).routes(),
            *Logs(threads, hub).routes(),
            *operations.routes(services, threads),
            *CoreNodes(services, threads).routes(),
            *Endpoints(services, threads, hub).routes(),
        ],
        exception_handlers=dict.fromkeys((Problem, Invalid, StoreError, HTTPException, Exception), refused),
        lifespan=life,
    )
    app.state.hub = hub
    app.state.threads = threads
    app.add_middleware(Door, services=services, metrics=metrics)
    return app


async def refused(_request: Request, error: Exception) -> Response:
    return exchange.refusal(exchange.problem_of(error))


class Door:
    """Routes on the raw path, names the caller, stamps the version, counts. A socket's mode lets its owner in."""

    def __init__(self, app: ASGIApp, services: Services, metrics: Metrics) -> None:
        self._app = app
        self._services = services
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": raw_path(scope), "state": dict(scope.get("state") or {})}
        version = self._services.server.version.encode()

        async def stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.count(scope["method"], message["status"])
                message = {**message, "headers": [*message["headers"], (b"rmctl-version", version)]}
            await send(message)

        caller = self._caller(scope)
        if caller is None and scope["path"] not in OPEN:
            problem = Problem(401, "Unauthorized", "a valid token is required")
            await exchange.refusal(problem)(scope, receive, stamped)
            return
        scope["state"]["caller"] = caller
        await self._app(scope, receive, stamped)

    def _caller(self, scope: Scope) -> Caller | None:
        """A listener's callers show a token, compared in constant time; a unix socket has no port."""
        server = scope.get("server")
        if server is None or server[1] is None:
            return OWNER
        shown = shown_token(scope)
        found = None
        for token, caller in self._services.tokens.items():
            if hmac.compare_digest(token.encode(), shown):
                found = caller
        return found


def raw_path(scope: Scope) -> str:
    """As it was sent: nothing is decoded, so that an encoded slash or dot is never a separator."""
    raw: bytes | None = scope.get("raw_path")
    return (raw.partition(b"?")[0].decode("latin-1")) if raw else str(scope["path"])


def shown_token(scope: Scope) -> bytes:
    """A bearer token, or the password of basic credentials: client-go sends no bearer token without TLS."""
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    value = next((value for name, value in headers if name == b"authorization"), b"")
    kind, _, rest = value.partition(b" ")
    match kind.lower():
        case b"bearer":
            return rest.strip()
        case b"basic":
            try:
                return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
            except binascii.Error:
                return b""
        case _:
            return b""
