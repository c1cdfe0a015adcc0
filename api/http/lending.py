"""`/apis/rmctl/v1/definitions`: the fields of a kind that a file defines, or its passes lent to somebody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import exchange, openapi_defined, openapi_shapes
from api.http.door import of_a_socket
from api.http.endpoints import ROOT
from api.http.envelope import DEFAULT_PROJECT, printable
from api.http.problems import Problem, bad_request
from api.http.services import Services
from api.http.threads import Threads
from controllers.definitions.lending import NotLent
from resources.kind import Undefined
from resources.names import KIND
from resources.reference import Ref
from resources.registry import BUILT_IN
from store import queue, resources
from store.tx import Tx


class Lending:
    """A workbench is for who is on the server's own socket: the passes then run as that user."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/definitions/workbench", self.post, methods=["POST"]),
            Route(f"{ROOT}/definitions/{{kind}}/schema", self.schema, methods=["GET"]),
        ]

    async def schema(self, request: Request) -> Response:
        """As a part of the OpenAPI document that is of one project."""
        kind, project = request.path_params["kind"], request.query_params.get("project") or DEFAULT_PROJECT
        if self._services.shape is None or not KIND.fullmatch(kind) or kind in BUILT_IN:
            raise Problem(404, "NotFound", f'no file defines the kind "{printable(kind)}"')
        shape = await asyncio.to_thread(self._services.shape, Ref(kind, "", project))
        schemas = {openapi_shapes.META: openapi_shapes.metadata(), **openapi_defined.schemas(shape)}
        return exchange.answer({"kind": "Schema", "apiVersion": "rmctl/v1", "components": {"schemas": schemas}})

    async def post(self, request: Request) -> Response:
        body = await exchange.document(request)
        said = body if isinstance(body, dict) else {}
        kind, project = said.get("kind"), said.get("project", DEFAULT_PROJECT)
        if not isinstance(kind, str) or not KIND.fullmatch(kind):
            raise bad_request("kind: expected the name of a definition")
        if not isinstance(project, str):
            raise bad_request("project: expected its name")
        for word in ("file", "socket"):
            if not isinstance(said.get(word), str) or not Path(said[word]).is_absolute():
                raise bad_request(f"{word}: expected an absolute path")
        if self._services.lend is None or not of_a_socket(request.scope):
            raise Problem(403, "Forbidden", f"{printable(kind)}: only the server's own socket takes a workbench")
        try:
            await asyncio.to_thread(
                self._services.lend, Ref(kind, "", project), Path(said["file"]), Path(said["socket"])
            )
        except NotLent as refused:
            raise Problem(409, "Conflict", str(refused), hint=refused.hint) from None
        except Undefined as unknown:
            raise Problem(422, "Invalid", str(unknown), hint=unknown.hint) from None
        woken = await self._threads.write(lambda tx: _wake(tx, kind, project))
        return exchange.answer({"kind": "Workbench", "apiVersion": "rmctl/v1", "woken": woken})


def _wake(tx: Tx, kind: str, project: str) -> int:
    found = resources.list_all(tx, kind, project)
    for one in found:
        queue.enqueue(tx, one.ref)
    return len(found)
