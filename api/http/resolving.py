"""`POST /effects/resolve`: what a person knows about an effect that nobody else can tell about."""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.http import audit, exchange
from api.http.endpoints import ROOT
from api.http.envelope import printable
from api.http.problems import Problem, bad_request
from api.http.records import effect_document
from api.http.threads import Threads
from resources.canonical import Document
from store import by_hand, effects, keys, queue, resources
from store.tx import Tx

MAX_REF = 1024
FIELDS = ("id", "adopt", "absent", "reason")


class Asked(NamedTuple):
    """`adopt` None: it never happened."""

    uid: str
    key: str
    adopt: str | None
    reason: str


class Resolving:
    """The endpoint of `rmctl effects resolve`."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def routes(self) -> list[Route]:
        return [Route(f"{ROOT}/effects/resolve", self.resolve, methods=["POST"])]

    async def resolve(self, request: Request) -> Response:
        asked = _read(await exchange.document(request))
        by = exchange.caller(request).name
        return exchange.answer(await self._threads.write(lambda tx: _resolved(tx, asked, by)))


def _resolved(tx: Tx, asked: Asked, by: str) -> Document:
    standing = effects.find(tx, asked.uid, asked.key)
    shown = printable(f"{asked.uid}:{asked.key}")
    if standing is None:
        raise Problem(404, "NotFound", f'effect "{shown}": not found')
    if standing.final:
        raise Problem(409, "Conflict", f'effect "{shown}": is {standing.state} already')
    stored = by_hand.settle(tx, asked.uid, asked.key, adopted=asked.adopt, reason=asked.reason)
    if stored is None:
        raise Problem(409, "Conflict", f'effect "{shown}": a worker is at it now', hint="try again in a moment")
    told = f"resolved {stored.kind} {stored.key} as " + (f"{asked.adopt}" if asked.adopt is not None else "absent")
    audit.append(
        tx,
        stored.owner,
        stored.uid,
        told,
        by=by,
        reason=asked.reason,
        effect=stored.id,
        adopted=asked.adopt,
        was=standing.state,
    )
    owner = resources.find(tx, stored.owner)
    key = keys.of(tx, [stored.owner]).get(stored.owner)
    if owner is not None and owner.uid == stored.uid:
        queue.enqueue(tx, owner.ref)
        resources.remove_if_free(tx, owner)
    return effect_document(stored, key)


def _read(body: Any) -> Asked:
    """Raises a 400 problem."""
    if not isinstance(body, dict):
        raise bad_request("an object is expected")
    strange = next((key for key in body if key not in FIELDS), None)
    if strange is not None:
        raise bad_request(f"unknown field {printable(strange)}; it has {', '.join(FIELDS)}")
    uid, colon, key = str(body.get("id") or "").partition(":")
    if not colon or not uid or not key:
        raise bad_request("id: expected UID:KEY, as `rmctl get effects -o json` shows it")
    adopt, absent = body.get("adopt"), body.get("absent", False)
    if not isinstance(absent, bool) or (adopt is None) is not absent:
        raise bad_request("either adopt: REF or absent: true")
    if adopt is not None and (not isinstance(adopt, str) or not adopt.isprintable() or not 0 < len(adopt) <= MAX_REF):
        raise bad_request(f"adopt: expected 1 to {MAX_REF} printable characters")
    return Asked(uid, key, adopt, audit.reason_of(body))
