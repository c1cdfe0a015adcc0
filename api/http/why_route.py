"""`GET …/PLURAL/NAME/why`: the reasons as JSON."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import exchange
from api.http.endpoints import ROOT, ref_of
from api.http.services import Services
from api.http.threads import Threads
from api.http.why import Reasons, why
from resources.job import Job
from resources.names import job_key
from store import resources
from store.tx import Tx


class Why:
    """The endpoint of `rmctl why`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/namespaces/{{project}}/{{plural}}/{{name}}/why", self.why, methods=["GET"]),
            Route(f"{ROOT}/{{plural}}/{{name}}/why", self.why, methods=["GET"]),
        ]

    async def why(self, request: Request) -> Response:
        ref = ref_of(request)
        key = job_key(ref.name) if ref.kind == "job" else None
        ref = ref._replace(name=key.wire) if key else ref

        def read(tx: Tx) -> Reasons:
            resource = resources.get(tx, ref)
            if not isinstance(resource, Job) or resource.status.phase != "pending" or resource.deleting:
                return why(tx, resource, None)
            return why(tx, resource, self._services.explain(tx, resource))

        reasons = await self._threads.read(read)
        return exchange.answer(
            {
                "kind": "Why",
                "apiVersion": "rmctl/v1",
                "for": str(ref),
                "sentence": reasons.sentence,
                "sections": [{"title": one.title, "rows": [_row(row) for row in one.rows]} for one in reasons.sections],
                "next": list(reasons.steps),
            }
        )


def _row(row: object) -> object:
    return row if isinstance(row, str) else list(row)  # type: ignore[call-overload]
