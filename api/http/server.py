"""The server itself over HTTP: health, version, what it is, stopping it, join tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from api.http import audit, core_openapi, discovery, exchange, openapi, openapi_v2
from api.http.endpoints import ROOT
from api.http.envelope import printable
from api.http.hub import Hub
from api.http.problems import Problem, bad_request, invalid
from api.http.services import Services
from api.http.threads import Threads
from resources.canonical import Document
from resources.frozen import spelled
from resources.instants import rfc3339
from resources.labels import SYSTEM
from resources.names import label_problem
from resources.reference import Ref
from resources.selectors import KEY, VALUE
from resources.shape import Shape
from resources.validation import FieldError
from store import backlog, changes, credentials, holds, resources
from store.errors import Failed
from store.tx import Tx

MAX_TOKEN_SECONDS = 7 * 86400.0


class ServerRoutes:
    """Discovery, health, and the few things that are no resources."""

    def __init__(self, services: Services, threads: Threads, hub: Hub) -> None:
        self._services = services
        self._threads = threads
        self._hub = hub

    def routes(self) -> list[Route]:
        fixed = {
            "/": discovery.paths,
            "/api": discovery.core_versions,
            "/apis": discovery.groups,
            "/apis/rmctl": discovery.group,
            ROOT: discovery.kinds,
            "/api/v1": discovery.core_kinds,
            "/openapi/v3/api/v1": core_openapi.document,
            "/version": lambda: discovery.version(self._services.server.version),
        }
        return [
            Route("/healthz", self.healthy, methods=["GET"]),
            Route("/livez", self.healthy, methods=["GET"]),
            Route("/readyz", self.ready, methods=["GET"]),
            *(Route(path, _told(document), methods=["GET"]) for path, document in fixed.items()),
            *(Route(path, self._described(answer), methods=["GET"]) for path, answer in OPENAPI.items()),
            Route(f"{ROOT}/server", self.about, methods=["GET"]),
            Route(f"{ROOT}/server/authority", self.authority, methods=["GET"]),
            Route(f"{ROOT}/server/stop", self.stop, methods=["POST"]),
            Route(f"{ROOT}/tokens", self.token, methods=["POST"]),
        ]

    def _described(self, answer: Callable[[tuple[Shape, ...]], Response]) -> Any:
        """What the files of definitions say is asked of them in a thread: a file may take its time."""

        async def endpoint(_request: Request) -> Response:
            return await asyncio.to_thread(lambda: answer(tuple(self._services.shapes())))

        return endpoint

    async def healthy(self, _request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(self, _request: Request) -> Response:
        return PlainTextResponse("ok") if self._services.ready() else PlainTextResponse("not ready", 503)

    async def about(self, _request: Request) -> Response:
        server = self._services.server

        def read(tx: Tx) -> Document:
            held = holds.find(tx)
            return {
                "revision": changes.head(tx),
                "queueDepth": backlog.depth(tx),
                "held": None if held is None else held.reason or "without a reason",
            }

        numbers = await self._threads.read(read)
        return exchange.answer(
            {
                "kind": "Server",
                "apiVersion": "rmctl/v1",
                "version": server.version,
                "pid": server.pid,
                "data": server.data,
                "startedAt": rfc3339(server.started_at),
                "ready": self._services.ready(),
                "listeners": list(server.listeners),
                "agents": list(server.agents),
                "watches": self._hub.open_streams,
                **numbers,
            }
        )

    async def authority(self, _request: Request) -> Response:
        """The CA of the listeners with TLS, for whoever wants to trust it."""
        authority = self._services.authority
        if authority is None:
            raise Problem(404, "NotFound", "this server has no listener with TLS, and no CA")
        told = {"kind": "Authority", "apiVersion": "rmctl/v1", "pem": authority.pem.decode()}
        return exchange.answer({**told, "sha256": authority.digest})

    async def stop(self, request: Request) -> Response:
        """Answered before the stop begins. A full disk keeps the audit from being written, not the server
        from ending: its log tells who asked.
        """
        await exchange.body(request)
        caller = exchange.caller(request)
        try:
            await self._threads.write(lambda tx: audit.of_the_server(tx, "stopped the server", by=caller.name))
        except Failed as failed:
            audit.log.error("the audit could not be written", error=str(failed), by=caller.name, verb="stop")
        self._services.stop()
        return exchange.answer({"kind": "Status", "apiVersion": "v1", "status": "Success", "message": "stopping"}, 202)

    async def token(self, request: Request) -> Response:
        """A join token for one node name. It is shown once and stored as a hash."""
        asked = _asked(await exchange.document(request))
        raw = self._services.token()
        caller = exchange.caller(request)

        def issue(tx: Tx) -> None:
            pool = asked["pool"]
            if pool is not None and resources.find(tx, Ref("pool", pool)) is None:
                raise invalid([FieldError("pool", f'no pool "{pool}"')])
            credentials.issue_join(tx, raw, asked["node"], pool=pool, labels=asked["labels"], ttl=asked["ttl"])
            audit.of_the_server(tx, f"issued a join token for node {asked['node']}", by=caller.name)

        await self._threads.write(issue)
        expires = rfc3339(float(int(self._services.now() + asked["ttl"])))
        authority = self._services.authority
        told = {
            "kind": "JoinToken",
            "apiVersion": "rmctl/v1",
            "token": f"{raw}.{authority.digest}" if authority else raw,
            "node": asked["node"],
            "expiresAt": expires,
        }
        return exchange.answer({**told, "agents": list(self._services.server.agents)}, 201)


OPENAPI: dict[str, Callable[[tuple[Shape, ...]], Response]] = {
    "/openapi/v2": lambda shapes: Response(openapi_v2.document(shapes), media_type=openapi_v2.MEDIA),
    "/openapi/v3": lambda shapes: exchange.answer(openapi.index(core_openapi.document(), shapes)),
    "/openapi/v3/apis/rmctl/v1": lambda shapes: exchange.answer(openapi.document(shapes)),
}


def _told(document: Any) -> Any:
    async def endpoint(_request: Request) -> Response:
        return exchange.answer(document())

    return endpoint


def _asked(body: Any) -> dict[str, Any]:
    """Raises a problem with all that is wrong."""
    if not isinstance(body, dict):
        raise bad_request(f"a token request is an object, got {spelled(body)}")
    node, pool, labels = body.get("node"), body.get("pool"), body.get("labels") or {}
    ttl = body.get("ttlSeconds", credentials.JOIN_SECONDS)
    errors = [FieldError(key, f"unknown field {printable(key)}", unknown=True) for key in body if key not in FIELDS]
    for name, value in (("node", node), ("pool", pool)):
        if value is None and name == "pool":
            continue
        problem = (
            label_problem(value) if isinstance(value, str) and value else "required" if not value else "expected text"
        )
        if problem:
            errors.append(FieldError(name, problem))
    if not isinstance(labels, dict):
        errors.append(FieldError("labels", f"expected an object, got {spelled(labels)}"))
        labels = {}
    for key, value in labels.items():
        if not KEY.fullmatch(key) or not isinstance(value, str) or not VALUE.fullmatch(value):
            errors.append(FieldError(f"labels.{printable(key)}", "is not a label"))
        elif key.startswith(SYSTEM):
            errors.append(FieldError(f"labels.{key}", "labels that start with rmctl/ are the system's"))
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl <= MAX_TOKEN_SECONDS:
        errors.append(FieldError("ttlSeconds", f"expected a number over 0, at most {MAX_TOKEN_SECONDS:g}"))
    if errors:
        raise _refused(errors)
    return {"node": node, "pool": pool, "labels": labels, "ttl": float(ttl)}


FIELDS = ("node", "pool", "labels", "ttlSeconds", "kind", "apiVersion")


def _refused(errors: list[FieldError]) -> Problem:
    return invalid(errors)
