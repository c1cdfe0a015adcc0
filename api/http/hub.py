"""Wakes the streams of this process after commits, and ends them when the server stops."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from store.store import Store


class Hub:
    """The store's hint reaches every open stream; a stream that is slow only misses hints, never changes."""

    def __init__(self, store: Store) -> None:
        self._streams: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self.closed = False
        store.subscribe(self._committed)

    @contextmanager
    def stream(self) -> Iterator[asyncio.Event]:
        """An event that is set after each commit, and for good once the hub is closed."""
        changed = asyncio.Event()
        self._streams[changed] = asyncio.get_running_loop()
        if self.closed:
            changed.set()
        try:
            yield changed
        finally:
            self._streams.pop(changed, None)

    def close(self) -> None:
        """End every stream: each sends its last bookmark and returns. Any thread may call it."""
        self.closed = True
        self._committed(())

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    def _committed(self, _notes: Sequence[object]) -> None:
        for changed, loop in list(self._streams.items()):
            with suppress(RuntimeError):  # that loop is closed, and the stream with it
                loop.call_soon_threadsafe(changed.set)


async def changed_within(changed: asyncio.Event, seconds: float) -> bool:
    """Waits for the hint; False when the time is up first."""
    try:
        await asyncio.wait_for(changed.wait(), seconds)
    except TimeoutError:
        return False
    return True
