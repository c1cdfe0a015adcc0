"""The routes of the pages, and of the address that opens them."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT
from api.http.envelope import printable
from api.http.pages import render
from api.http.pages.detail import Detail, detail
from api.http.pages.links import HOME
from api.http.pages.overview import overview
from api.http.problems import Problem, bad_request
from api.http.services import ServerInfo, Services
from api.http.threads import Threads
from resources.canonical import Document
from resources.frozen import spelled
from resources.instants import rfc3339
from resources.job import Job
from resources.names import job_key, label_problem
from resources.reference import Ref
from resources.registry import kind_named
from store import grants, resources
from store.errors import StoreError
from store.tx import Tx

TOKEN_SECONDS = 600.0
MAX_TOKEN_SECONDS = 7 * 86400.0


class Pages:
    """Read-only; every page is JSON for who asks for that."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route(HOME, self.overview, methods=["GET"]),
            Route(f"{HOME}/", self.overview, methods=["GET"]),
            Route(f"{HOME}/static/{{name}}", self.static, methods=["GET"]),
            Route(f"{HOME}/{{kind}}/{{name}}", self.resource, methods=["GET"]),
            Route(f"{ROOT}/tokens/pages", self.token, methods=["POST"]),
        ]

    async def overview(self, request: Request) -> Response:
        query = request.query_params
        project = query.get("project") or "default"
        problems, everything = "problems" in query, "all" in query
        if label_problem(project):
            return self._refused(request, bad_request(f"project: {label_problem(project)}"))
        found = await self._threads.read(lambda tx: overview(tx, project, problems=problems, everything=everything))
        if wants_json(request):
            return exchange.answer({"kind": "Overview", "apiVersion": "rmctl/v1", **plain(found)})
        return self._page("overview", overview=found, problems=problems, everything=everything)

    async def resource(self, request: Request) -> Response:
        kind = kind_named(request.path_params["kind"])
        name = request.path_params["name"]
        if kind is None:
            word = printable(request.path_params["kind"])
            return self._refused(request, Problem(404, "NotFound", f'there is no kind "{word}"'))
        key = job_key(name) if kind.name == "job" else None
        project = (request.query_params.get("project") or "default") if kind.namespaced else ""
        ref = Ref(kind.name, key.wire if key else name, project)

        def read(tx: Tx) -> Detail:
            resource = resources.get(tx, ref)
            if not isinstance(resource, Job) or resource.status.phase != "pending" or resource.deleting:
                return detail(tx, resource, None)
            return detail(tx, resource, self._services.explain(tx, resource))

        try:
            found = await self._threads.read(read)
        except StoreError as error:
            return self._refused(request, exchange.problem_of(error))
        if wants_json(request):
            return exchange.answer({"kind": "Detail", "apiVersion": "rmctl/v1", **plain(found)})
        return self._page("detail", detail=found)

    async def static(self, request: Request) -> Response:
        found = render.static(request.path_params["name"])
        if found is None:
            raise Problem(404, "NotFound", "there is nothing at this path")
        return found

    async def token(self, request: Request) -> Response:
        """An address that opens the pages once, for whoever has it, to look."""
        ttl = _seconds(await exchange.document(request))
        raw, caller = self._services.token(), exchange.caller(request)

        def write(tx: Tx) -> float:
            grants.issue(tx, raw, "page", caller.name, caller.role, ttl=ttl)
            audit.of_the_server(tx, "made an address that opens the page", by=caller.name)
            return tx.now + ttl

        expires = rfc3339(float(int(await self._threads.write(write))))
        told = {"kind": "PageToken", "apiVersion": "rmctl/v1", "token": raw, "path": f"{HOME}?token={raw}"}
        return exchange.answer({**told, "expiresAt": expires}, 201)

    def _page(self, name: str, **values: Any) -> Response:
        return render.page(name, server=self._services.server, **values)

    def _refused(self, request: Request, problem: Problem) -> Response:
        return refused(request, problem, self._services.server)


def refused(request: Request, problem: Problem, server: ServerInfo) -> Response:
    """A refusal in the form that was asked for."""
    if wants_json(request):
        return exchange.refusal(problem)
    return render.page(
        "refused", problem.code, server=server, code=problem.code, message=problem.message, hint=problem.hint
    )


def wants_json(request: Request) -> bool:
    """Whether JSON is asked for before HTML; who says nothing of either gets JSON."""
    accept = request.headers.get("accept", "")
    html, json = accept.find("text/html"), accept.find("application/json")
    return html < 0 or 0 <= json < html


def plain(value: Any) -> Document:
    """A named tuple and what is in it as JSON; links are for people."""
    found: Document = {}
    for name, one in value._asdict().items():
        if name not in ("href", "bar"):
            found[name] = _plain(one)
    return found


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return plain(value)
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _seconds(body: Any) -> float:
    if not isinstance(body, dict) or set(body) - {"ttlSeconds"}:
        raise bad_request(f"expected an object with ttlSeconds at most, got {spelled(body)}")
    ttl = body.get("ttlSeconds", TOKEN_SECONDS)
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl <= MAX_TOKEN_SECONDS:
        raise bad_request(f"ttlSeconds: expected a number over 0, at most {MAX_TOKEN_SECONDS:g}")
    return float(ttl)
