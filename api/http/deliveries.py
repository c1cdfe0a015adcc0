"""Counts of deliveries: kept in memory for some seconds, then added to the status of their webhook."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from api.http.threads import Threads
from resources.reference import Ref
from resources.resource import Resource
from resources.webhook import Webhook
from store import resources
from store.errors import StoreError
from store.tx import Tx

log = structlog.get_logger("rmctl.webhook")
TELL_SECONDS = 10.0
"""However many deliveries come, a webhook's status is written at most once in so many seconds."""


@dataclass
class Count:
    """What came to one webhook since its status was written last. `last_at` in unix seconds."""

    received: int = 0
    refused: int = 0
    last_at: float = 0.0


class Deliveries:
    """What is not written when the server ends is lost: it is a count, no record."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._counts: dict[tuple[Ref, str], Count] = {}
        self._telling: asyncio.Task[None] | None = None

    def count(self, webhook: Resource[Any, Any], at: float, *, received: bool) -> None:
        """One more, of either sort."""
        count = self._counts.setdefault((webhook.ref, webhook.uid), Count())
        if received:
            count.received += 1
        else:
            count.refused += 1
        count.last_at = max(count.last_at, at)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        while self._counts:
            counts, self._counts = self._counts, {}
            try:
                left = await self._threads.write(partial(_added, counts=counts))
            except StoreError as error:
                log.warning("counts of deliveries are not written", error=str(error))
                left = counts
            for key, count in left.items():
                newer = self._counts.setdefault(key, Count())
                newer.received += count.received
                newer.refused += count.refused
                newer.last_at = max(newer.last_at, count.last_at)
            await asyncio.sleep(TELL_SECONDS)


def _added(tx: Tx, counts: dict[tuple[Ref, str], Count]) -> dict[tuple[Ref, str], Count]:
    """Those of a webhook whose newest spec was not looked at yet are left: only its controller may say that it was."""
    left = {}
    for (ref, uid), count in counts.items():
        found = resources.find(tx, ref)
        if not isinstance(found, Webhook) or found.uid != uid or found.deleting:
            continue
        if found.status.observed_generation != found.generation:
            left[ref, uid] = count
            continue
        status = found.status
        more = {
            "received": status.received + count.received,
            "refused": status.refused + count.refused,
            "last_at": max(status.last_at or 0.0, count.last_at),
        }
        resources.replace_status(tx, found, status.model_copy(update=more))
    return left
