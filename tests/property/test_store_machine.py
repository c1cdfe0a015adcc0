"""Queue and resources against a dictionary: in whichever order one writes, no wake is lost and no claim is shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule
from sqlalchemy import delete, select

from resources.conditions import condition
from resources.pool import PoolStatus
from resources.reference import Ref
from resources.wire import to_wire
from store import changes, queue, resources, tables
from store.engine import open_engine
from store.errors import BeingDeleted, ClaimLost, Conflict
from store.node_tables import schema
from store.queue import LEASE_SECONDS, Claim
from store.schema import prepare
from store.store import Store
from store.tx import Tx
from tests.builders import a_pool
from tests.clocked import Clocked
from tests.whole import share

CLOCK = Clocked()
ENGINE = open_engine(None)
prepare(ENGINE, CLOCK)
STORE = Store(ENGINE, CLOCK)
KEYS = st.sampled_from([Ref("pool", name) for name in "ab"])
DOCUMENTS = st.sampled_from([a_pool(maxRestartsPerHour=number) for number in (1, 2)])
FINALIZER = "test/kept"


@contextmanager
def transaction() -> Iterator[Tx]:
    with STORE.transaction() as tx:
        yield tx


def contents() -> list[list[tuple[Any, ...]]]:
    """Of every table that a pass over these keys could touch."""
    with transaction() as tx:
        touched = (tables.resources, tables.queue, tables.changes, tables.events, tables.labels)
        return [[tuple(row) for row in tx.execute(select(table))] for table in touched]


@dataclass
class Known:
    """What the model knows of a resource that stands."""

    document: Any
    generation: int = 1
    deleting: bool = False


@dataclass(frozen=True)
class Held:
    """A claim, perhaps no longer valid, and the resource as its pass read it."""

    claim: Claim
    resource: Any


class QueueAndResources(RuleBasedStateMachine):
    """`woken` is when a key was last woken since its last claim, `failed` when an error of it was last put down.

    `ended` is when a claim of it was last given back, `owner` the claim that was last given out.
    """

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        with transaction() as tx:
            for table in reversed(schema.sorted_tables):
                tx.write(delete(table))
        CLOCK.time = 1_000.0
        self.known: dict[Ref, Known] = {}
        self.woken: dict[Ref, float] = {}
        self.owner: dict[Ref, Claim] = {}
        self.failed: dict[Ref, float] = {}
        self.ended: dict[Ref, float] = {}

    def live(self, ref: Ref) -> bool:
        claim = self.owner.get(ref)
        return claim is not None and claim.expires_at > CLOCK.time

    def wake(self, ref: Ref) -> None:
        self.woken[ref] = CLOCK.time

    @rule(ref=KEYS, document=DOCUMENTS)
    def apply(self, ref: Ref, document: Any) -> None:
        known = self.known.get(ref)
        with transaction() as tx:
            found = resources.find(tx, ref)
            if found is None:
                resources.create(tx, ref, document, finalizers=(FINALIZER,))
                assert known is None
                self.known[ref] = Known(document)
                self.wake(ref)
                return
            assert known is not None
            if known.deleting and document != known.document:
                with pytest.raises(BeingDeleted):
                    resources.replace(tx, found, document=document)
                return
            stored = resources.replace(tx, found, document=document)
        if document == known.document:
            assert stored is found
        else:
            known.document, known.generation = document, known.generation + 1
            self.wake(ref)
        assert stored.generation == known.generation

    @rule(ref=KEYS)
    def delete(self, ref: Ref) -> None:
        with transaction() as tx:
            found = resources.find(tx, ref)
            if found is not None:
                resources.request_deletion(tx, found)
        if found is not None and not self.known[ref].deleting:
            self.known[ref].deleting = True
            self.wake(ref)

    @rule(ref=KEYS)
    def poke(self, ref: Ref) -> None:
        with transaction() as tx:
            queue.enqueue(tx, ref)
        self.wake(ref)

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 31.0, LEASE_SECONDS]))
    def tick(self, seconds: float) -> None:
        CLOCK.time += seconds

    @rule(target=held, ref=KEYS, document=DOCUMENTS)
    def apply_and_claim(self, ref: Ref, document: Any) -> Any:
        """So that claims are as common as what befalls them."""
        self.apply(ref, document)
        return self.claim()

    @rule(target=held)
    def claim(self) -> Any:
        expired = {ref for ref, claim in self.owner.items() if not self.live(ref)}
        with transaction() as tx:
            taken = queue.claim(tx, limit=1, token=CLOCK.token, backoff=lambda errors: 2.0**errors)
            rows = {Ref(row.kind, row.name, row.project): row for row in queue.list_all(tx)}
            found = resources.find(tx, taken[0].ref) if taken else None
        for ref in expired:  # whose row was looked at has lost its claim, and is one error further
            if rows[ref].expires_at is None:
                self.owner.pop(ref)
                self.failed[ref] = CLOCK.time
        if not taken:
            return multiple()
        (claim,) = taken
        assert not self.live(claim.ref), "two live claims on one key"
        self.owner[claim.ref] = claim
        self.woken.pop(claim.ref, None)
        return Held(claim, found)

    @rule(one=held, how=st.sampled_from(["settle", "requeue", "fail", "rerun", "release"]))
    def finish(self, one: Held, how: str) -> None:
        ref = one.claim.ref
        valid = self.owner.get(ref) is one.claim and self.live(ref)
        before = contents()
        try:
            with transaction() as tx:
                self._end(tx, one, how)
        except ClaimLost:
            assert not valid, "a live claim was refused"
            assert contents() == before, "a lost claim has written"
            return
        except Conflict:
            assert valid, "a lost claim got as far as the resource"
            assert contents() == before, "a pass that lost a race has written"
            with transaction() as tx:
                queue.rerun(tx, one.claim, 8.0)
            how = "rerun"
        assert valid, "a lost claim was taken"
        del self.owner[ref]
        self.ended[ref] = CLOCK.time
        self._follow(ref, one, how)

    def _end(self, tx: Tx, one: Held, how: str) -> None:
        claim, resource = one.claim, one.resource
        if resource is not None and how in ("settle", "requeue"):
            queue.hold(tx, claim)
            status = PoolStatus(conditions=(condition("Ready", True, "HasCapacity"),))
            last = how == "settle" and resource.deleting
            stored = resources.replace_status(tx, resource, status, finalizers=() if last else None)
            if resources.remove_if_free(tx, stored):
                return
        endings: dict[str, Callable[[], None]] = {
            "settle": lambda: queue.settle(tx, claim),
            "requeue": lambda: queue.requeue(tx, claim, 10.0),
            "fail": lambda: queue.fail(tx, claim, 8.0),
            "rerun": lambda: queue.rerun(tx, claim, 8.0),
            "release": lambda: queue.release(tx, claim),
        }
        endings[how]()

    def _follow(self, ref: Ref, one: Held, how: str) -> None:
        gone = how == "settle" and one.resource is not None and one.resource.deleting
        if gone:
            del self.known[ref]
            self.woken.pop(ref, None)
        elif how in ("rerun", "release"):
            self.woken.setdefault(ref, CLOCK.time)
        with transaction() as tx:
            row = next((row for row in queue.list_all(tx) if row.name == ref.name), None)
        if how == "settle" and ref not in self.woken:
            assert row is None, "a settled key that nobody woke is still there"
        if how == "fail" or (how == "rerun" and one.claim.conflicts >= queue.RERUNS):
            assert row is not None
            assert row.errors == one.claim.errors + 1
            self.failed[ref] = CLOCK.time

    @invariant()
    def what_is_stored_is_what_was_acknowledged(self) -> None:
        with transaction() as tx:
            stored = {r.ref: Known(r.document, r.generation, r.deleting) for r in resources.list_all(tx, "pool")}
            ahead = [r.ref for r in resources.list_all(tx, "pool") if r.status.observed_generation > r.generation]
        assert (stored, ahead) == (self.known, [])

    @invariant()
    def no_wake_is_lost_or_put_off(self) -> None:
        with transaction() as tx:
            rows = {Ref(row.kind, row.name, row.project): row for row in queue.list_all(tx)}
        for ref in self.owner:
            assert ref in rows, f"{ref} is claimed and not in the queue"
        for ref, at in self.woken.items():
            assert ref in rows, f"{ref} was woken and is not in the queue"
            row = rows[ref]
            due = max(at, self.ended.get(ref, at))
            limit = max(due, self.failed[ref] + queue.FAILING_SECONDS) if row.errors else due
            if row.expires_at is None:
                assert row.available_at <= limit, f"{ref} was woken at {at} and is due at {row.available_at}"

    @invariant()
    def a_view_of_the_changes_is_the_table(self) -> None:
        with transaction() as tx:
            view: dict[Ref, Any] = {}
            for change in changes.since(tx, 0, kind="pool", limit=10_000):
                view[change.ref] = None if change.type == "DELETED" else change.document
            table = {r.ref: to_wire(r) for r in resources.list_all(tx, "pool")}
        assert {ref: document for ref, document in view.items() if document is not None} == table


TestQueueAndResources = pytest.mark.req("T16", "T17", "T19", "T21", "T22")(QueueAndResources.TestCase)
TestQueueAndResources.settings = settings(
    max_examples=share(150), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
