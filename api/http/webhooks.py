"""`POST /webhooks/PROJECT/NAME`: a signed delivery wakes what its webhook names, and says nothing more."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from api.http.deliveries import Deliveries
from api.http.problems import Problem
from api.http.services import Services
from api.http.threads import Threads
from resources.event import Event
from resources.reference import Ref
from resources.resource import Resource
from resources.wakes import filled, ref_of
from resources.webhook import Webhook
from store import events, queue, resources
from store.errors import StoreError
from store.tx import Tx

MAX_BODY_BYTES = 64 * 1024
MAX_WAITING = 1000
BODY_SECONDS = 30.0
"""A delivery that is not there by then is hung up on: whoever sends it is a stranger still."""
REMEMBERED = 20_000
INSTANT = re.compile("[0-9]{1,12}")
TOGETHER_SECONDS = 0.05
"""Deliveries that come together share a write; a storm makes no more of them than so often."""


def refused() -> Problem:
    """One answer for an unknown name, a wrong signature and an old instant: it tells a stranger nothing."""
    return Problem(404, "NotFound", "no webhook takes this delivery")


class Webhooks:
    """A delivery is answered once its wake is stored."""

    def __init__(self, services: Services, threads: Threads) -> None:
        self._services = services
        self._threads = threads
        self._deliveries = Deliveries(threads)
        self._seen: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._wanted: set[Ref] = set()
        self._told: set[tuple[Ref, str]] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._flushing: asyncio.Task[None] | None = None

    def routes(self) -> list[Route]:
        return [Route("/webhooks/{project}/{name}", self.post, methods=["POST"])]

    async def post(self, request: Request) -> Response:
        body = await _bounded(request)
        ref = Ref("webhook", request.path_params["name"], request.path_params["project"])
        webhook = await self._threads.read(lambda tx: resources.find(tx, ref))
        if not isinstance(webhook, Webhook) or webhook.deleting:
            raise refused()
        try:
            id_ = self._verified(webhook, request.headers, body)
        except Problem:
            self._deliveries.count(webhook, self._services.now(), received=False)
            raise
        self._deliveries.count(webhook, self._services.now(), received=True)
        only = webhook.spec.only
        if only is not None and request.headers.get(only.name) not in only.values:
            return PlainTextResponse("not of interest\n", 202)
        key = (webhook.uid, id_)
        if not self._first(key, webhook.spec.replay_seconds):
            return PlainTextResponse("known already\n", 202)
        try:
            await self._woken(webhook.ref, _named(webhook, body))
        except BaseException:
            self._seen.pop(key, None)
            raise
        return PlainTextResponse("taken\n", 202)

    def _verified(self, webhook: Resource[Any, Any], headers: Mapping[str, str], body: bytes) -> str:
        """The delivery's id. Raises the refusal; signatures are compared in constant time."""
        where, secrets = webhook.spec.secret, self._services.secrets
        value = None if secrets is None else secrets.value(webhook.project, where.secret, where.key)
        if not value:
            raise refused()
        if webhook.spec.signature == "github":
            expected = "sha256=" + hmac.new(value.encode(), body, hashlib.sha256).hexdigest()
            given = headers.get("x-hub-signature-256", "")
            if not hmac.compare_digest(expected.encode(), given.encode()):
                raise refused()
            return expected  # the id beside it is not signed
        id_, instant = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        signed = f"{id_}.{instant}.".encode() + body
        expected = base64.b64encode(hmac.new(_key(value), signed, hashlib.sha256).digest()).decode()
        signatures = headers.get("webhook-signature", "").split(" ")
        if not any(hmac.compare_digest(f"v1,{expected}".encode(), one.encode()) for one in signatures):
            raise refused()
        if not id_ or not INSTANT.fullmatch(instant):
            raise refused()
        if abs(self._services.now() - int(instant)) > webhook.spec.replay_seconds:
            raise refused()
        return id_

    def _first(self, key: tuple[str, str], seconds: float) -> bool:
        """Whether this delivery has not been taken within its window."""
        now = self._services.now()
        while self._seen and (len(self._seen) > REMEMBERED or next(iter(self._seen.values())) < now):
            self._seen.popitem(last=False)
        if key in self._seen:
            return False
        self._seen[key] = now + 2 * seconds
        return True

    async def _woken(self, webhook: Ref, wanted: list[Ref]) -> None:
        if len(self._waiting) >= MAX_WAITING:
            raise Problem(429, "TooManyRequests", "more deliveries wait than are taken at once", retry_after=1)
        self._wanted.update(wanted)
        self._told.add((webhook, "WebhookReceived"))
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(stored)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        await stored

    async def _flush(self) -> None:
        while self._waiting:
            await asyncio.sleep(TOGETHER_SECONDS)
            waiting, self._waiting = self._waiting, []
            wanted, self._wanted = sorted(self._wanted), set()
            told, self._told = sorted(self._told), set()
            try:
                await self._threads.write(partial(_wake, wanted=wanted, told=told))
            except StoreError as error:  # whoever delivered is told, and delivers again
                for one in waiting:
                    if not one.done():
                        one.set_exception(error)
            else:
                for one in waiting:
                    if not one.done():
                        one.set_result(None)


def _wake(tx: Tx, wanted: list[Ref], told: list[tuple[Ref, str]]) -> None:
    for ref in wanted:
        if resources.stands(tx, ref):
            queue.enqueue(tx, ref)
    for ref, type_ in told:
        found = resources.find(tx, ref)
        if found is not None:
            events.add(tx, ref, found.uid, Event(type_, "took deliveries"))


def _named(webhook: Resource[Any, Any], body: bytes) -> list[Ref]:
    document: Any = {}
    with suppress(ValueError, RecursionError):
        document = json.loads(body)
    if not isinstance(document, dict):
        document = {}
    keys = [(one.kind, filled(one.key, document)) for one in webhook.spec.wakes]
    return [ref_of(kind, key, webhook.project) for kind, key in keys if key]


def _key(secret: str) -> bytes:
    """A secret of the standard's own shape is the base64 behind its prefix."""
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            pass
    return secret.encode()


async def _bounded(request: Request) -> bytes:
    """Raises a 413 problem before more than the limit is read, and a 408 problem for what does not come to its end."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise Problem(413, "RequestEntityTooLarge", f"a delivery may have {MAX_BODY_BYTES} bytes")
                parts.append(part)
    except TimeoutError:
        raise Problem(408, "Timeout", f"a delivery may take {BODY_SECONDS:g} s") from None
    return b"".join(parts)
