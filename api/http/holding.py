"""`/server/hold` and `/server/resume`: whether effects are begun; below `/audit`, whether all agrees."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT
from api.http.services import Services
from api.http.strict_json import loads
from api.http.threads import Threads
from resources.canonical import Document
from resources.instants import rfc3339
from store import capacity_audit, holds, record_audit
from store.tx import Tx


class Holding:
    """The endpoints of `rmctl pause server` and `rmctl resume server`."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads

    def routes(self) -> list[Route]:
        return [
            Route(f"{ROOT}/server/hold", self.standing, methods=["GET"]),
            Route(f"{ROOT}/server/hold", self.hold, methods=["POST"]),
            Route(f"{ROOT}/server/resume", self.resume, methods=["POST"]),
            Route(f"{ROOT}/audit/capacity", self.audited, methods=["GET"]),
            Route(f"{ROOT}/audit/records", self.verified, methods=["GET"]),
        ]

    async def standing(self, _request: Request) -> Response:
        return exchange.answer(await self._threads.read(lambda tx: told(holds.find(tx))))

    async def hold(self, request: Request) -> Response:
        """No effect is begun from now on; those under way end."""
        reason = audit.reason_of(await _body(request), required=False)
        by = exchange.caller(request).name

        def hold(tx: Tx) -> Document:
            audit.of_the_server(tx, "held all effects", by=by, reason=reason)
            return told(holds.put(tx, reason, by))

        return exchange.answer(await self._threads.write(hold))

    async def resume(self, request: Request) -> Response:
        """The ledger is put right first; what it can not put right is told and not touched."""
        await exchange.body(request)
        by = exchange.caller(request).name

        def resume(tx: Tx) -> tuple[bool, Document]:
            repaired = capacity_audit.repair(tx)
            lifted = holds.lift(tx)
            if lifted:
                audit.of_the_server(tx, "let effects begin again", by=by, repaired=repaired)
            return lifted, {**told(None), "lifted": lifted, "repaired": repaired, **self._audit(tx)}

        lifted, answer = await self._threads.write(resume)
        if lifted:
            self._services.resumed()
        return exchange.answer(answer)

    async def audited(self, _request: Request) -> Response:
        return exchange.answer(await self._threads.read(self._audit))

    async def verified(self, _request: Request) -> Response:
        """All that is on record is read back, in one snapshot."""
        return exchange.answer(await self._threads.read(_records))

    def _audit(self, tx: Tx) -> Document:
        found = capacity_audit.audit(tx, self._services.strays())
        return {"kind": "CapacityAudit", "apiVersion": "rmctl/v1", "findings": [one.document() for one in found]}


def _records(tx: Tx) -> Document:
    doubts = [one.document() for one in record_audit.verify(tx)]
    return {"kind": "RecordAudit", "apiVersion": "rmctl/v1", "read": record_audit.counts(tx), "findings": doubts}


async def _body(request: Request) -> Document:
    data = await exchange.body(request)
    found = loads(data) if data.strip() else {}
    return found if isinstance(found, dict) else {}


def told(hold: holds.Hold | None) -> Document:
    document: Document = {"kind": "Hold", "apiVersion": "rmctl/v1", "held": hold is not None}
    if hold is not None:
        document |= {"reason": hold.reason, "by": hold.by, "since": rfc3339(float(int(hold.since)))}
    return document
