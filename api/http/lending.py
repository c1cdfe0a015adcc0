"""`POST /apis/rmctl/v1/definitions/workbench`: somebody of this machine runs the passes of a kind themselves."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import exchange
from api.http.door import of_a_socket
from api.http.endpoints import ROOT
from api.http.envelope import printable
from api.http.problems import Problem, bad_request
from api.http.services import Services
from api.http.threads import Threads
from resources.names import KIND
from store import queue, resources
from store.tx import Tx


class Lending:
    """For who is on the server's own socket: the passes then run as that user."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [Route(f"{ROOT}/definitions/workbench", self.post, methods=["POST"])]

    async def post(self, request: Request) -> Response:
        body = await exchange.document(request)
        kind, socket = (body.get("kind"), body.get("socket")) if isinstance(body, dict) else (None, None)
        if not isinstance(kind, str) or not KIND.fullmatch(kind):
            raise bad_request("kind: expected the name of a definition")
        if not isinstance(socket, str) or not Path(socket).is_absolute():
            raise bad_request("socket: expected an absolute path")
        if self._services.lend is None or not of_a_socket(request.scope):
            raise Problem(403, "Forbidden", f"{printable(kind)}: only the server's own socket takes a workbench")
        self._services.lend(kind, Path(socket))
        woken = await self._threads.write(lambda tx: _wake(tx, kind))
        return exchange.answer({"kind": "Workbench", "apiVersion": "rmctl/v1", "woken": woken})


def _wake(tx: Tx, kind: str) -> int:
    found = resources.list_all(tx, kind)
    for one in found:
        queue.enqueue(tx, one.ref)
    return len(found)
