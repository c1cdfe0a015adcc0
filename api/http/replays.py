"""`GET /apis/rmctl/v1/decisions/ID`: a decision of the placer, made again from the log."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import exchange
from api.http.endpoints import ROOT
from api.http.problems import Problem, bad_request
from api.http.services import Services
from api.http.threads import Threads


class Replays:
    """The endpoint of `rmctl dev replay`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [Route(f"{ROOT}/decisions/{{event}}", self.replay, methods=["GET"])]

    async def replay(self, request: Request) -> Response:
        text = request.path_params["event"]
        if not text.isdecimal() or len(text) > 18:
            raise bad_request("the id of a decision is a number: rmctl events -o json")
        found = await self._threads.read(lambda tx: self._services.replay(tx, int(text)))
        if found is None:
            raise Problem(404, "NotFound", f"there is no decision {text} about a job: rmctl events -o json")
        return exchange.answer(
            {
                "kind": "Replay",
                "apiVersion": "rmctl/v1",
                "equal": found.equal,
                "reason": found.reason,
                "decided": found.decided,
                "replayed": found.replayed,
            }
        )
