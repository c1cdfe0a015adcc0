"""`POST /apis/rmctl/v1/plan`: what a set of documents would change, and where its jobs would run; nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import batch, exchange, queries
from api.http.endpoints import ROOT
from api.http.services import Preview, Services
from api.http.threads import Threads
from resources.bundle import Bundle
from resources.canonical import Document
from resources.names import shown
from resources.reservation import Reservation
from store.tx import Tx


class Planning:
    """The endpoint of `rmctl plan`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [Route(f"{ROOT}/plan", self.plan, methods=["POST"])]

    async def plan(self, request: Request) -> Response:
        """The batch is applied and rolled back; in between the placer is asked about what it holds.

        Each document takes its room before the next is looked at, in the order in which they were given.
        """
        body = await exchange.document(request)
        how, documents, project = batch.read(
            body, queries.how(request.query_params, request.headers.get("user-agent", ""))
        )
        submissions = batch.submitted(documents, project)
        traced = queries.flag(request.query_params, "trace")

        def planned(tx: Tx) -> list[Document]:
            items, scratch = [], self._services.scratch()
            for written in batch.apply(tx, submissions, how, self._services.criteria):
                item = batch.item(written)
                if isinstance(written.resource, Bundle):
                    previews = self._services.plan(tx, written.resource, traced, scratch)
                    item["placements"] = [_told(one) for one in previews]
                    item["warnings"] = [text for one in previews for text in _warnings(one)]
                if isinstance(written.resource, Reservation):
                    item["preview"] = self._services.foresee(tx, written.resource, scratch)
                items.append(item)
            return items

        items = await self._threads.write(planned, dry_run=True)
        return exchange.answer({"kind": "Plan", "apiVersion": "rmctl/v1", "items": items})


def _warnings(one: Preview) -> Iterator[str]:
    """What keeps a job waiting though nothing is wrong with its bundle: it can be applied all the same."""
    name = one.job if one.job.startswith("job/") else shown("job", one.job)
    if one.answer == "unschedulable":
        yield f"{name} would wait: {one.sentence}"
    for capability in one.missing:
        yield f"{name}: nothing in its pool has {capability}"


def _told(one: Preview) -> Document:
    told: Document = {
        "job": one.job,
        "answer": one.answer,
        "node": one.node,
        "tier": one.tier,
        "sentence": one.sentence,
    }
    if one.reservation is not None:
        told["reservation"] = one.reservation
    if one.drawn:
        told["drawn"] = list(one.drawn)
    if one.would_fit:
        told["wouldFit"] = list(one.would_fit)
    if one.missing:
        told["missing"] = list(one.missing)
    if one.tree:
        told["trace"] = one.tree
    return told
