"""What listeners are told is in the store by then."""

from __future__ import annotations

from collections.abc import Sequence

from resources.reference import Ref
from store import queue, resources
from store.store import Store
from tests.builders import POOL, a_pool


def test_a_listener_that_looks_finds_what_it_was_told_about(store: Store) -> None:
    """Through a connection of its own, which sees committed rows only."""
    found: list[Ref | None] = []

    def look(notes: Sequence[object]) -> None:
        with store.read() as tx:
            there = resources.find(tx, POOL)
            found.append(there.ref if there is not None else None)

    store.subscribe(look)
    store.write(lambda tx: resources.create(tx, POOL, a_pool()))
    store.write(lambda tx: queue.enqueue(tx, POOL))
    assert found == [POOL, POOL]
