"""Turns: who may have a runner next, so that a kind whose passes hang or never settle costs the others little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from controllers.runtime.decision import Decision
from resources.event import Event
from resources.reference import Ref
from store import queue, queue_turns
from store.queue import Claim
from store.tx import Tx

AT_ONCE_IN_A_ROW = 200
"""Passes of one key that may each ask for the next at once; from then on there is a pause between them."""
AT_ONCE_SECONDS = 0.1
LONG_SECONDS = 5.0
REMEMBERED = 1000
"""Keys that missed their deadline."""
Take = Callable[..., tuple[Claim, ...]]


class Turns:
    """One kind leaves a runner to the others. Kinds in a long pass share as many runners as there are `workers`, which
    do not count for the others. Keys whose last pass missed its deadline share half of the workers.
    """

    def __init__(self, workers: int, backoff: Callable[[int], float], clock: Callable[[], float]) -> None:
        self._workers = workers
        self._most = max(workers - 1, 1)
        self._most_late = max(workers // 2, 1)
        self._backoff = backoff
        self._clock = clock
        self._at_work: dict[str, tuple[Ref, float]] = {}
        self._late: dict[Ref, None] = {}
        self._in_a_row: dict[Ref, int] = {}

    @contextmanager
    def at_work(self, claim: Claim) -> Iterator[None]:
        self._at_work[claim.token_hash] = (claim.ref, self._clock())
        try:
            yield
        finally:
            del self._at_work[claim.token_hash]

    def long(self) -> tuple[Ref, ...]:
        """Keys whose pass has been under way for long."""
        began = self._clock() - LONG_SECONDS
        return tuple(ref for ref, since in tuple(self._at_work.values()) if since <= began)

    def missed(self, ref: Ref) -> None:
        """A pass was ended at its deadline."""
        self._late[ref] = None
        if len(self._late) > REMEMBERED:
            self._late.pop(next(iter(self._late)), None)

    def came_back(self, ref: Ref) -> None:
        """A pass came to a result in time, or there is nothing left to pass over."""
        self._late.pop(ref, None)

    def take(self, tx: Tx, limit: int, ready: Iterable[Claim], claim: Take) -> tuple[Claim, ...]:
        """Up to `limit` claims; `ready` are those that were taken and not begun."""
        held = self._held(ready)
        if not self._late and not self.long() and max(_kinds(held).values(), default=0) + limit <= self._most:
            return claim(tx, limit=limit)
        taken: list[Claim] = []
        while len(taken) < limit:
            choose = partial(queue_turns.due, without=self._full(held), nor=self._barred(held))
            more = claim(tx, limit=1, choose=choose)
            if not more:
                break
            taken += more
            held += [one.ref for one in more]
        return tuple(taken)

    def next_due(self, tx: Tx, ready: Iterable[Claim]) -> float | None:
        held = self._held(ready)
        return queue_turns.next_due(tx, queue.DEFINED, without=self._full(held), nor=self._barred(held))

    def paced(self, ref: Ref, decision: Decision) -> Decision:
        """A key that asks for pass after pass gets them with pauses, once there were too many in a row."""
        if decision.requeue_after is None or decision.requeue_after >= AT_ONCE_SECONDS:
            self._in_a_row.pop(ref, None)
            return decision
        count = self._in_a_row[ref] = self._in_a_row.get(ref, 0) + 1
        over = count - AT_ONCE_IN_A_ROW
        if over <= 0:
            return decision
        words = (
            f"{AT_ONCE_IN_A_ROW} passes in a row each asked for the next one at once: from now on they wait longer "
            "and longer; does it ever settle, and does an effect's key stay the same?"
        )
        told = (Event("ReconcileSpinning", words, "Warning"),) if over == 1 else ()
        return replace(decision, requeue_after=self._backoff(over), events=(*decision.events, *told))

    def _held(self, ready: Iterable[Claim]) -> list[Ref]:
        return [*(ref for ref, _ in tuple(self._at_work.values())), *(one.ref for one in ready)]

    def _full(self, held: list[Ref]) -> frozenset[str]:
        """Kinds that get no more runners now."""
        counted, long = _kinds(held), {ref.kind for ref in self.long()}
        full = {kind for kind, count in counted.items() if count >= self._most}
        return frozenset(full | long if sum(counted[kind] for kind in long) >= self._workers else full)

    def _barred(self, held: list[Ref]) -> tuple[Ref, ...]:
        """Keys that get no runner now."""
        late = tuple(self._late)
        return late if len(set(late) & set(held)) >= self._most_late else ()


def _kinds(held: Iterable[Ref]) -> Counter[str]:
    return Counter(ref.kind for ref in held)
