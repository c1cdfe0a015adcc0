"""What is over and old goes; what somebody may still look at stays."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from controllers.runtime.manager import Manager
from controllers.runtime.upkeep import DAY_SECONDS, Retention, Upkeep
from resources.effect import Applied, Deferred, Effect
from resources.event import CHRONICLE, Event
from resources.reference import Ref
from store import changes, credentials, effects, events, queue, resources, retention
from store.store import Store
from tests.builders import POOL, a_pool
from tests.clocked import Clocked

LATER = 31 * DAY_SECONDS
OTHER = Ref("pool", "other")


class Kept(NamedTuple):
    clock: Clocked
    store: Store
    upkeep: Upkeep

    def finished(self, ref: Ref, key: str) -> None:
        """An effect that came to its end now."""

        def write(tx) -> None:
            effects.record(tx, resources.get(tx, ref), Effect("StartJob", key, "agents", {}))

        self.store.write(write)
        take = partial(effects.claim, provider="agents", limit=9, token=self.clock.token)
        for claim in self.store.write(take):
            self.store.write(partial(effects.answer, claim=claim, answer=Applied("i")))

    def told(self, ref: Ref, type_: str, message: str) -> None:
        self.store.write(lambda tx: events.add(tx, ref, resources.get(tx, ref).uid, Event(type_, message)))


@pytest.fixture
def kept(tmp_path: Path):
    clock = Clocked()
    store = Store.open(tmp_path, clock)
    for ref in (POOL, OTHER):
        store.write(partial(resources.create, ref=ref, document=a_pool()))
    yield Kept(clock, store, Upkeep(store, clock, Retention(revisions=3)))
    store.close()


def effect_keys(kept: Kept) -> list[str]:
    with kept.store.read() as tx:
        return sorted(record.key for record in effects.list_all(tx))


def messages(kept: Kept) -> list[str]:
    with kept.store.read() as tx:
        return sorted(record.message for record in events.list_for(tx, limit=100, without=CHRONICLE))


def test_effects_go_when_they_are_over_and_old_but_the_newest_of_an_owner_that_stands(kept: Kept) -> None:
    for number in range(retention.KEPT_EFFECTS + 3):
        kept.clock.time += 1.0
        kept.finished(POOL, f"start/1/{number:02}")
    kept.finished(OTHER, "gone/1/1")
    kept.store.write(lambda tx: effects.record(tx, resources.get(tx, OTHER), Effect("StopJob", "open/1/1", "x", {})))
    kept.clock.time += LATER
    kept.finished(POOL, "new/1/1")
    kept.store.write(lambda tx: resources.strip(tx, resources.get(tx, OTHER)))
    kept.upkeep.sweep()
    newest = [f"start/1/{number:02}" for number in range(4, retention.KEPT_EFFECTS + 3)]
    assert effect_keys(kept) == ["gone/1/1", "new/1/1", "open/1/1", *newest]


def test_effects_outlive_their_owner_for_the_retention(kept: Kept) -> None:
    kept.finished(OTHER, "start/1/1")
    kept.store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, OTHER)))
    kept.clock.time += LATER - 2 * DAY_SECONDS
    kept.upkeep.sweep()
    assert effect_keys(kept) == ["start/1/1"]
    kept.clock.time += 2 * DAY_SECONDS
    kept.upkeep.sweep()
    assert effect_keys(kept) == []


def test_events_go_that_are_old_and_were_followed_or_whose_resource_is_gone(kept: Kept) -> None:
    kept.told(POOL, "PlacementDecision", "first")
    kept.told(POOL, "JobUpdated", "alone of its type")
    kept.told(OTHER, "JobUpdated", "of one that goes")
    kept.clock.time += LATER
    kept.told(POOL, "PlacementDecision", "second")
    kept.store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, OTHER)))
    kept.upkeep.sweep()
    assert messages(kept) == ["alone of its type", "second"]


@pytest.mark.req("T13")
def test_an_orphan_is_found_and_asked_to_go_as_any_other(kept: Kept) -> None:
    """One that nothing holds goes at once, one that has to clean up gets its time; who has an owner stays."""
    free, bound, owned = (Ref("template", name, "default") for name in ("free", "bound", "owned"))

    def write(tx) -> None:
        resources.create(tx, free, {}, owner="nobody")
        resources.create(tx, bound, {}, owner="nobody", finalizers=("test/cleanup",))
        resources.create(tx, owned, {}, owner=resources.get(tx, POOL).uid)

    kept.store.write(write)
    for _ in range(2):
        kept.upkeep.sweep()
    with kept.store.read() as tx:
        left = [found and found.deleting for found in (resources.find(tx, ref) for ref in (free, bound, owned))]
        told = [event.type for event in events.list_for(tx, bound)]
    assert left == [None, True, False]
    assert told == ["DeletionRequested", "Orphaned", "ResourceCreated"]


def test_tokens_that_ran_out_long_ago_go(kept: Kept) -> None:
    kept.store.write(partial(credentials.issue_join, raw="old", node="n", ttl=60.0))
    kept.clock.time += LATER
    kept.store.write(partial(credentials.issue_join, raw="new", node="n", ttl=60.0))
    kept.upkeep.sweep()
    with kept.store.read() as tx:
        assert [credentials.join_token(tx, raw) is not None for raw in ("old", "new")] == [False, True]
        assert tx.connection.exec_driver_sql("SELECT count(*) FROM credentials").scalar_one() == 1


def test_the_newest_revisions_are_kept_and_the_counter_goes_on(kept: Kept) -> None:
    for number in range(2000):
        kept.told(POOL, "JobUpdated", f"{number % 2}")
    with kept.store.read() as tx:
        head = changes.head(tx)
    assert kept.upkeep.compact() == head - 3
    with kept.store.read() as tx:
        assert (changes.oldest(tx), changes.head(tx)) == (head - 2, head)


def test_a_sweep_is_due_once_a_day_over_restarts_and_jumps_of_the_clock(kept: Kept) -> None:
    swept = []
    for passed in (0.0, 60.0, DAY_SECONDS - 61.0, 1.0, 60.0, -3600.0):
        kept.clock.time += passed
        Upkeep(kept.store, kept.clock, Retention()).look()
        with kept.store.read() as tx:
            swept.append(retention.swept_at(tx) == kept.clock.time)
    assert swept == [True, False, False, True, False, True]


def test_it_runs_as_a_task_and_ends(kept: Kept) -> None:
    upkeep = Upkeep(kept.store, kept.clock, Retention(revisions=1, look_seconds=0.01))
    upkeep.start()
    look = kept.clock.signal()
    while True:
        with kept.store.read() as tx:
            if changes.head(tx) == changes.oldest(tx) and retention.swept_at(tx) is not None:
                break
        look.wait(0.01)
    upkeep.stop()


def test_a_clock_that_was_set_back_puts_nothing_off(kept: Kept) -> None:
    """A key's next look and an effect's next try were instants of the old time; both are due within a minute."""
    take_key = partial(queue.claim, limit=9, token=kept.clock.token, backoff=float)
    take_effect = partial(effects.claim, provider="agents", limit=9, token=kept.clock.token)
    for claim in kept.store.write(take_key):
        kept.store.write(partial(queue.requeue, claim=claim, delay=30.0))
    start = Effect("StartJob", "start/1/1", "agents", {})
    kept.store.write(lambda tx: effects.record(tx, resources.get(tx, POOL), start))
    for one in kept.store.write(take_effect):
        kept.store.write(partial(effects.answer, claim=one, answer=Deferred("throttled", 5.0)))
    kept.clock.time -= 900.0
    kept.upkeep.look()
    assert [claim.ref for claim in kept.store.write(take_key)] == [POOL, OTHER]
    assert [one.record.key for one in kept.store.write(take_effect)] == ["start/1/1"]


def test_a_claim_of_a_dead_server_runs_out_though_its_clock_was_ahead(kept: Kept) -> None:
    """The next server, by a clock that was set right, neither waits for its instants nor for its leases."""
    take = partial(queue.claim, limit=9, token=kept.clock.token, backoff=lambda _errors: 1.0)
    kept.store.write(take)
    kept.clock.time -= 900.0
    manager = Manager(kept.store, kept.clock, {}, [])
    manager.start()
    manager.stop()
    with kept.store.read() as tx:
        assert [row for row in queue.list_all(tx) if row.available_at > kept.clock.time + 60.0] == []


def test_a_clock_that_goes_its_way_hurries_nothing(kept: Kept) -> None:
    for claim in kept.store.write(partial(queue.claim, limit=9, token=kept.clock.token, backoff=float)):
        kept.store.write(partial(queue.requeue, claim=claim, delay=30.0))
    kept.clock.time += 29.0
    kept.upkeep.look()
    with kept.store.read() as tx:
        assert [row.available_at for row in queue.list_all(tx)] == [1030.0, 1030.0]
