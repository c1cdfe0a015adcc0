"""The bridge from the event loop to the store: a fixed set of threads, since each holds a read connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from resources.kind import SourceChanged, Unresolved
from store.errors import ReadOnly
from store.store import Store
from store.tx import Tx

T = TypeVar("T")
READERS = 4
ROUNDS = 5
"""How often definitions are asked about one write before they are taken to change all the time."""
WRITERS = 32
"""Writers only wait for the group commit: many of them share one transaction."""


class _DryRun(Exception):
    """Carries a result out of a transaction that must not be kept."""

    def __init__(self, result: object) -> None:
        super().__init__("dry run")
        self.result = result


def _resolved(write: Callable[[Callable[[Tx], T]], T], fn: Callable[[Tx], T]) -> T:
    """A write that needs to hear a definition first waits for it outside of the transaction, then runs again."""
    for _ in range(ROUNDS):
        try:
            return write(fn)
        except Unresolved as unresolved:
            last = unresolved
            unresolved.resolve()
    raise SourceChanged(last.ref)


class Threads:
    """Reads in one snapshot each, writes through the writer; neither blocks the loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readers = ThreadPoolExecutor(READERS, "http-read")
        self._writers = ThreadPoolExecutor(WRITERS, "http-write")

    async def read(self, fn: Callable[[Tx], T]) -> T:
        def snapshot() -> T:
            with self._store.read() as tx:
                return fn(tx)

        return await asyncio.get_running_loop().run_in_executor(self._readers, snapshot)

    async def write(self, fn: Callable[[Tx], T], *, dry_run: bool = False, tried: bool = False) -> T:
        """Durable when it returns; a dry run takes the same way and is rolled back.

        What is `tried` runs in a snapshot first, up to its first write: what is refused there never asks for the lock.
        """
        if tried:
            with suppress(ReadOnly, Unresolved):
                await self.read(fn)
        carried_out = self._tried if dry_run else self._store.write
        return await asyncio.get_running_loop().run_in_executor(self._writers, _resolved, carried_out, fn)

    def close(self) -> None:
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._writers.shutdown(wait=False, cancel_futures=True)

    def _tried(self, fn: Callable[[Tx], T]) -> T:
        def probe(tx: Tx) -> None:
            raise _DryRun(fn(tx))

        try:
            self._store.write(probe)
        except _DryRun as end:
            result: T = end.result  # type: ignore[assignment]
            return result
        raise AssertionError("a dry run always ends by rolling back")
