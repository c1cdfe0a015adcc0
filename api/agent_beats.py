"""Heartbeats of many nodes, stored together: those that come while one write is under way share the next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

Write = Callable[[tuple[str, ...]], Awaitable[None]]


GATHER_SECONDS = 0.1
TRICKLE = 64
"""Fewer heartbeats than this in the last commit are a trickle."""


class Beats:
    """`run` is the one task that writes; `stored` is what every stream waits for."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._more = asyncio.Event()

    async def stored(self, node: str) -> None:
        """Returns once a heartbeat of this node, no older than this call, is durable."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(node, []).append(done)
        self._more.set()
        await done

    async def run(self) -> None:
        """A trickle is gathered for a moment: it costs a few commits a second. A flood is written as it comes."""
        written = 0
        while True:
            await self._more.wait()
            if written < TRICKLE:
                await asyncio.sleep(GATHER_SECONDS)
            self._more.clear()
            batch, self._waiting = self._waiting, {}
            written = len(batch)
            if not batch:
                continue
            failure: Exception | None = None
            try:
                await self._write(tuple(batch))
            except Exception as error:  # noqa: BLE001 (each stream that waits gets it)
                failure = error
            for done in (done for waiting in batch.values() for done in waiting if not done.done()):
                if failure is None:
                    done.set_result(None)
                else:
                    done.set_exception(failure)
