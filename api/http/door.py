"""The door of the HTTP application: it names the caller, routes on the raw path, stamps the version, and counts."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http import exchange, roles
from api.http.audit import Refusals
from api.http.envelope import printable
from api.http.metrics import Metrics
from api.http.problems import Problem
from api.http.services import Caller, Services
from api.http.threads import Threads
from store import grants
from store.grants import Purpose
from store.tx import Tx

OWNER = Caller("owner")
"""Whoever may connect to the unix socket, where the connection does not say who that is."""
Endpoint = Callable[[Request], Awaitable[Response]]


class Door:
    """A socket's mode lets its owner in; a listener's callers show a token or a client certificate."""

    def __init__(
        self, app: ASGIApp, services: Services, threads: Threads, metrics: Metrics, refusals: Refusals
    ) -> None:
        self._app = app
        self._services = services
        self._threads = threads
        self._metrics = metrics
        self._refusals = refusals

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

        try:
            caller = await self._caller(scope)
        except Exception as error:  # noqa: BLE001 - whatever the store says, this request gets an answer
            await exchange.refusal(exchange.problem_of(error))(scope, receive, stamped)
            return
        if caller is None and scope["path"] not in roles.OPEN:
            self._refusals.stranger(scope["method"], scope["path"])
            problem = Problem(401, "Unauthorized", "a valid token is required")
            await exchange.refusal(problem)(scope, receive, stamped)
            return
        scope["state"]["caller"] = caller
        await self._app(scope, receive, stamped)

    async def _caller(self, scope: Scope) -> Caller | None:
        if of_a_socket(scope):
            peer = scope["state"].get("peer")
            return OWNER if peer is None else Caller(peer.name)
        shown = shown_token(scope)
        found = None
        for token, caller in self._services.tokens.items():
            if hmac.compare_digest(token.encode(), shown):
                found = caller
        if found is not None:
            return found
        if shown:
            return await self._granted(shown.decode("latin-1"), "user", "node")
        certificate = scope["state"].get("certificate")
        return await self._granted(certificate_key(certificate), "certificate") if certificate else None

    async def _granted(self, secret: str, *purposes: Purpose) -> Caller | None:
        """Read anew for each call, so that a token that is revoked is of no use at once."""

        def read(tx: Tx) -> Caller | None:
            grant = grants.find(tx, secret, *purposes)
            return None if grant is None else Caller(grant.name, grant.role)

        return await self._threads.read(read)


def guarded(route: Route, refusals: Refusals) -> Route:
    """The same route for those whose role allows it; without an entry in the table it is an admin's."""
    endpoint: Endpoint = route.endpoint

    @wraps(endpoint)
    async def checked(request: Request) -> Response:
        caller: Caller | None = request.state.caller
        if route.path in roles.OPEN:
            return await endpoint(request)
        assert caller is not None
        wanted = roles.need(route.path, request.method)
        if not roles.allows(caller, wanted):
            problem = roles.refusal(caller, wanted, printable(request.path_params.get("plural", "")))
            await refusals.known(caller, problem.message, request.method, request.url.path)
            raise problem
        return await endpoint(request)

    return Route(route.path, checked, methods=list(route.methods) if route.methods else None)


def of_a_socket(scope: Scope) -> bool:
    """A unix socket has no port."""
    server = scope.get("server")
    return server is None or server[1] is None


def raw_path(scope: Scope) -> str:
    """As it was sent: nothing is decoded, so that an encoded slash or dot is never a separator."""
    raw: bytes | None = scope.get("raw_path")
    return (raw.partition(b"?")[0].decode("latin-1")) if raw else str(scope["path"])


def shown_token(scope: Scope) -> bytes:
    """A bearer token, or the password of basic credentials: client-go sends nothing else without TLS."""
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


def certificate_key(der: bytes) -> str:
    """What a client certificate is remembered by."""
    return f"certificate:{hashlib.sha256(der).hexdigest()}"
