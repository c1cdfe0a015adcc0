"""The door of the HTTP application: it names the caller, routes on the raw path, stamps the version, and counts."""

from __future__ import annotations

import asyncio
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
from api.http.pages import gate
from api.http.pages.links import HOME
from api.http.pages.routes import refused
from api.http.problems import Problem
from api.http.services import Caller, Services
from api.http.threads import Threads
from store import grants
from store.grants import Purpose
from store.tx import Tx

PROXY = b"rmctl-door"
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
            await watched.send(message)

        watched = Watched(scope, send, self._caller, self._services.recheck_seconds)

        try:
            turned = await self._enter(scope)
        except Exception as error:  # noqa: BLE001 - whatever the store says, this request gets an answer
            turned = exchange.refusal(exchange.problem_of(error))
        await (turned or self._app)(scope, receive, stamped)

    async def _enter(self, scope: Scope) -> Response | None:
        """Names the caller; the answer to one that is not let in, or is sent elsewhere."""
        elsewhere = gate.homeward(scope)
        if elsewhere is not None:
            return elsewhere
        page = gate.is_page(scope["path"])
        if page and not of_a_socket(scope):
            strange = gate.strange(scope, self._services.hosts)
            if strange:
                return self._refused(scope, Problem(403, "Forbidden", strange))
            token = gate.shown_once(scope)
            if token:
                return await self._first_visit(scope, token)
        caller = await self._caller(scope)
        if caller is None and page and scope["method"] in ("GET", "HEAD"):
            caller = await self._granted(gate.shown_session(scope), "session")
        if caller is None and not is_open(scope["path"]):
            self._refusals.stranger(scope["method"], scope["path"])
            hint = "rmctl open" if page else ""
            return self._refused(scope, Problem(401, "Unauthorized", "a valid token is required", hint=hint))
        scope["state"]["caller"] = caller
        return None

    async def _first_visit(self, scope: Scope, token: str) -> Response:
        session = self._services.token()
        caller = await self._threads.write(lambda tx: gate.exchange(tx, token, session))
        if caller is not None:
            return gate.entered(scope, session)
        if await self._granted(gate.shown_session(scope), "session") is not None:
            return gate.without_token(scope)
        self._refusals.stranger(scope["method"], scope["path"])
        message = "this address was good once, and has been used, or its time is over"
        return self._refused(scope, Problem(401, "Unauthorized", message, hint="rmctl open"))

    def _refused(self, scope: Scope, problem: Problem) -> Response:
        if not gate.is_page(scope["path"]):
            return exchange.refusal(problem)
        return refused(Request(scope), problem, self._services.server)

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

        if not secret:
            return None

        def read(tx: Tx) -> Caller | None:
            grant = grants.find(tx, secret, *purposes)
            return None if grant is None else Caller(grant.name, grant.role)

        return await self._threads.read(read)


class Watched:
    """An answer that goes on ends when its caller's token has been revoked, or its time is over."""

    def __init__(
        self, scope: Scope, send: Send, find: Callable[[Scope], Awaitable[Caller | None]], every: float
    ) -> None:
        self._scope = scope
        self._send = send
        self._find = find
        self._every = every
        self._checked = asyncio.get_running_loop().time()
        self._ended = False

    async def send(self, message: Message) -> None:
        if self._ended:
            return
        if message.get("more_body") and not of_a_socket(self._scope) and not await self._welcome():
            self._ended = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def _welcome(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._checked < self._every:
            return True
        self._checked = now
        return await self._find(self._scope) is not None


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


def is_open(path: str) -> bool:
    return path in roles.OPEN or path.startswith((f"{HOME}/static/", "/webhooks/"))


def of_a_socket(scope: Scope) -> bool:
    """A unix socket has no port; a proxy to it says that its own callers have still to show who they are."""
    server = scope.get("server")
    if (PROXY, b"listener") in scope["headers"]:
        return False
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
