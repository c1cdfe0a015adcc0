"""A worker that was given up cannot touch the claim of the one that came after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from resources.reference import Ref
from store import queue
from store.errors import ClaimLost
from store.queue import Claim
from store.store import Store
from store.tx import Tx
from tests.clocked import Clocked

KEY = Ref("pool", "local")


def claim(store: Store, clock: Clocked) -> tuple[Claim, ...]:
    return store.write(lambda tx: queue.claim(tx, limit=1, token=clock.token, backoff=lambda _: 1.0))


@pytest.mark.parametrize(
    "write",
    [
        queue.hold,
        queue.renew,
        queue.settle,
        queue.release,
        lambda tx, held: queue.requeue(tx, held, 1.0),
        lambda tx, held: queue.fail(tx, held, 1.0),
        lambda tx, held: queue.rerun(tx, held, 1.0),
    ],
)
def test_the_first_of_two_claimers_is_shut_out(
    store: Store, clock: Clocked, write: Callable[[Tx, Claim], object]
) -> None:
    """The second claim is live, so only its token and its lease generation tell the two apart."""
    store.write(lambda tx: queue.enqueue(tx, KEY))
    (first,) = claim(store, clock)
    clock.time = first.expires_at
    assert claim(store, clock) == ()
    clock.time += 1.0
    (second,) = claim(store, clock)
    with pytest.raises(ClaimLost):
        store.write(lambda tx: write(tx, first))
    assert store.write(lambda tx: queue.hold(tx, second)) == second.wakes
