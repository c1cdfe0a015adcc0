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
Take = Callable[..., tuple[Claim, ...]]


class Turns:
    """One kind leaves a runner to the others. Kinds whose passes miss their deadline share half of them."""

    def __init__(self, workers: int, backoff: Callable[[int], float]) -> None:
        self._most = max(workers - 1, 1)
        self._most_late = max(workers // 2, 1)
        self._backoff = backoff
        self._at_work: dict[str, str] = {}
        self._late: frozenset[str] = frozenset()
        self._in_a_row: dict[Ref, int] = {}

    @contextmanager
    def at_work(self, claim: Claim) -> Iterator[None]:
        self._at_work[claim.token_hash] = claim.ref.kind
        try:
            yield
        finally:
            del self._at_work[claim.token_hash]

    def missed(self, ref: Ref) -> None:
        """A pass was ended at its deadline."""
        self._late |= {ref.kind}

    def came_back(self, ref: Ref) -> None:
        """A pass came to a result in time."""
        if ref.kind in self._late:
            self._late -= {ref.kind}

    def take(self, tx: Tx, limit: int, ready: Iterable[Claim], claim: Take) -> tuple[Claim, ...]:
        """Up to `limit` claims; `ready` are those that were taken and not begun."""
        held = self._held(ready)
        if not self._late and max(held.values(), default=0) + limit <= self._most:
            return claim(tx, limit=limit)
        taken: list[Claim] = []
        while len(taken) < limit:
            choose = partial(queue_turns.due, without=self._full(held))
            more = claim(tx, limit=1, choose=choose)
            if not more:
                break
            taken += more
            held.update(one.ref.kind for one in more)
        return tuple(taken)

    def next_due(self, tx: Tx, ready: Iterable[Claim]) -> float | None:
        full = self._full(self._held(ready))
        if not full:
            return queue.next_due(tx, queue.DEFINED)
        return queue_turns.next_due(tx, queue.DEFINED, without=full)

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

    def _held(self, ready: Iterable[Claim]) -> Counter[str]:
        return Counter([*tuple(self._at_work.values()), *(one.ref.kind for one in ready)])

    def _full(self, held: Counter[str]) -> frozenset[str]:
        """Kinds that get no more runners now."""
        full = {kind for kind, count in held.items() if count >= self._most}
        late = self._late
        return frozenset(full | late) if sum(held[kind] for kind in late) >= self._most_late else frozenset(full)
