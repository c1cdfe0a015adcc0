"""Resources: versions, generations, compare-and-swap, and how they go."""

from __future__ import annotations

import math
from dataclasses import replace as with_

import pytest

from resources import conditions
from resources.conditions import condition
from resources.effect import Effect
from resources.event import Event
from resources.pool import PoolStatus
from resources.reference import Ref
from store import changes, effects, events, queue, resources
from store.errors import BeingDeleted, ClaimLost, Conflict, Corrupt, NotFound, ReadOnly, TooLarge
from store.store import Store
from store.tables import resources as table
from tests.builders import POOL, a_bundle, a_job_entry, a_pool
from tests.clocked import Clocked


def create(store: Store, ref: Ref = POOL, **more: object):
    document = a_pool() if ref.kind == "pool" else a_bundle() if ref.kind == "bundle" else {}
    return store.write(lambda tx: resources.create(tx, ref, document, **more))


def read(store: Store, ref: Ref = POOL):
    with store.read() as tx:
        return resources.find(tx, ref)


def head(store: Store) -> int:
    with store.read() as tx:
        return changes.head(tx)


def queued(store: Store) -> list[tuple[str, int]]:
    with store.read() as tx:
        return [(row.name, row.wakes) for row in queue.list_all(tx)]


@pytest.mark.req("T1", "CR1")
def test_a_new_resource_has_version_generation_and_one_queue_row(store: Store) -> None:
    made = create(store)
    assert (
        made.resource_version >= 1,
        made.generation,
        made.finalizers,
        made.status.observed_generation,
        made.status.conditions,
    ) == (
        True,
        1,
        (),
        0,
        (),
    )
    assert queued(store) == [("local", 1)]
    assert read(store) == made


@pytest.mark.req("T2")
def test_the_same_name_again_has_a_new_uid_and_inherits_nothing(store: Store) -> None:
    first = create(store)
    store.write(lambda tx: effects.record(tx, first, Effect("StartJob", "start/1/1", "agents", {})))
    claim = store.write(lambda tx: effects.claim(tx, "agents", limit=1, token=lambda: "t"))[0]
    store.write(lambda tx: effects.cancel(tx, claim))
    assert store.write(lambda tx: resources.request_deletion(tx, first)) is None
    second = create(store)
    assert second.uid != first.uid
    with store.read() as tx:
        assert effects.of(tx, second.uid) == ()
        assert [e.key for e in effects.of(tx, first.uid)] == ["start/1/1"]


@pytest.mark.req("T2")
def test_the_same_name_again_inherits_no_claim_no_failure_and_no_child(store: Store, clock: Clocked) -> None:
    """A pass over the one that went ends with nothing, also if its claim has not run out."""
    first = create(store, finalizers=("x",))
    child = create(store, Ref("template", "t", "default"), owner=first.uid, finalizers=("x",))
    held = [claim for claim in store.write(lambda tx: take(tx, clock)) if claim.ref == POOL]
    store.write(lambda tx: queue.fail(tx, held[0], 1.0))
    clock.time += 1.0
    (held,) = store.write(lambda tx: take(tx, clock))
    store.write(lambda tx: resources.strip(tx, child))
    store.write(lambda tx: resources.strip(tx, read(store)))
    second = create(store)
    with store.read() as tx:
        (row,) = queue.list_all(tx)
        assert (row.errors, row.wakes, row.expires_at, resources.owned(tx, second.uid)) == (0, 1, None, ())
    with pytest.raises(ClaimLost):
        store.write(lambda tx: queue.settle(tx, held))
    assert queued(store) == [("local", 1)]


def take(tx, clock: Clocked):
    return queue.claim(tx, limit=9, token=clock.token, backoff=float)


@pytest.mark.req("CR4")
@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"bytes", object()])
def test_a_spec_that_is_no_json_is_refused_and_nothing_is_stored(store: Store, value: object) -> None:
    ref = Ref("bundle", "b", "default")
    made = create(store, ref)
    before = head(store), queued(store)
    bad = a_bundle(a_job_entry(parameters={"deep": [{"x": value}]}))
    for write in (
        lambda tx: resources.create(tx, Ref("bundle", "other", "default"), bad),
        lambda tx: resources.replace(tx, made, document=bad),
    ):
        with pytest.raises(ValueError, match=r"\S"):
            store.write(write)
    assert (head(store), queued(store), read(store, ref)) == (*before, made)


@pytest.mark.req("T3", "CR3")
def test_an_equal_spec_writes_nothing(store: Store) -> None:
    made = create(store)
    before = (head(store), queued(store))
    again = store.write(lambda tx: resources.replace(tx, made, document=dict(reversed(list(a_pool().items())))))
    assert again is made
    assert (head(store), queued(store)) == before


@pytest.mark.req("T4", "CR3")
def test_a_changed_spec_raises_the_generation_and_wakes(store: Store) -> None:
    made = create(store)
    changed = store.write(lambda tx: resources.replace(tx, made, document=a_pool(maxRestartsPerHour=1)))
    assert (changed.generation, changed.resource_version > made.resource_version) == (2, True)
    assert queued(store) == [("local", 2)]


@pytest.mark.req("T5")
def test_the_second_writer_of_one_version_is_refused(store: Store) -> None:
    made = create(store)
    store.write(lambda tx: resources.replace_status(tx, made, PoolStatus(node_count=1)))
    with pytest.raises(Conflict):
        store.write(lambda tx: resources.replace_status(tx, made, PoolStatus(node_count=2)))
    assert read(store).status.node_count == 1


@pytest.mark.req("T5")
def test_an_identical_status_is_not_written(store: Store) -> None:
    made = create(store)
    status = PoolStatus(conditions=(condition("Ready", True, "HasCapacity", "fine"),))
    once = store.write(lambda tx: resources.replace_status(tx, made, status))
    before = head(store)
    again = store.write(lambda tx: resources.replace_status(tx, once, status))
    assert (again.resource_version, head(store)) == (once.resource_version, before)


@pytest.mark.req("T6")
def test_claims_leases_and_events_do_not_move_the_version(store: Store, clock: Clocked) -> None:
    made = create(store)
    before = head(store)
    claim = store.write(lambda tx: queue.claim(tx, limit=1, token=clock.token, backoff=float))[0]
    store.write(lambda tx: queue.renew(tx, claim))
    store.write(lambda tx: queue.settle(tx, claim))
    assert head(store) == before
    store.write(lambda tx: events.add(tx, POOL, made.uid, Event("PlacementFailed", "told")))
    assert read(store) == made
    store.write(lambda tx: resources.replace_status(tx, made, PoolStatus(node_count=1)))


@pytest.mark.req("T6")
def test_every_write_of_a_resource_moves_its_version_to_the_counter(store: Store) -> None:
    made = create(store)
    labelled = store.write(lambda tx: resources.replace(tx, made, labels={"a": "b"}))
    assert labelled.resource_version == head(store) > made.resource_version


@pytest.mark.req("T8", "CC1")
def test_a_transition_time_moves_only_with_the_status(store: Store, clock: Clocked) -> None:
    made = create(store)
    first = store.write(
        lambda tx: resources.replace_status(tx, made, PoolStatus(conditions=(condition("Ready", True, "A"),)))
    )
    clock.time += 10
    second = store.write(
        lambda tx: resources.replace_status(tx, first, PoolStatus(conditions=(condition("Ready", True, "B"),)))
    )
    clock.time += 10
    third = store.write(
        lambda tx: resources.replace_status(tx, second, PoolStatus(conditions=(condition("Ready", None, "C"),)))
    )
    times = [conditions.find(r.status.conditions, "Ready").last_transition_time for r in (first, second, third)]
    assert times == [1000.0, 1000.0, 1020.0]


@pytest.mark.req("T8")
def test_a_condition_named_twice_or_without_a_reason_is_an_error(store: Store) -> None:
    made = create(store)
    twice = PoolStatus(conditions=(condition("Ready", True, "A"), condition("Ready", False, "B")))
    reasonless = PoolStatus(conditions=(condition("Ready", True, ""),))
    nameless = PoolStatus(conditions=(condition("", True, "A"),))
    for status, named in ((twice, "Ready"), (reasonless, "Ready"), (nameless, "no type")):
        with pytest.raises(ValueError, match=rf"condition \(?{named}\)?: "):
            store.write(lambda tx, status=status: resources.replace_status(tx, made, status))
    assert read(store) == made


@pytest.mark.req("T11", "CR7", "CR13")
def test_finalizers_hold_a_deletion(store: Store, clock: Clocked) -> None:
    made = create(store, finalizers=("example/cleanup",))
    asked = store.write(lambda tx: resources.request_deletion(tx, made))
    clock.time += 5
    before = head(store), queued(store)
    again = store.write(lambda tx: resources.request_deletion(tx, read(store)))
    assert (asked.deletion_timestamp, again, head(store), queued(store)) == (1000.0, asked, *before)
    freed = store.write(lambda tx: resources.replace_status(tx, again, again.status, finalizers=()))
    assert store.write(lambda tx: resources.remove_if_free(tx, freed)) is True
    assert read(store) is None


@pytest.mark.req("T11")
def test_no_finalizer_is_added_once_deletion_was_asked_for(store: Store) -> None:
    made = create(store, finalizers=("a", "b"))
    asked = store.write(lambda tx: resources.request_deletion(tx, made))
    fewer = store.write(lambda tx: resources.replace_status(tx, asked, asked.status, finalizers=("late", "b")))
    assert (fewer.finalizers, read(store).finalizers) == (("b",), ("b",))


@pytest.mark.req("CR6")
def test_a_finalizer_named_twice_is_one(store: Store) -> None:
    made = create(store, finalizers=("b", "a", "b"))
    more = store.write(lambda tx: resources.replace_status(tx, made, made.status, finalizers=("b", "a", "c", "a")))
    assert (made.finalizers, more.finalizers, read(store).finalizers) == (("b", "a"), *[("b", "a", "c")] * 2)


@pytest.mark.req("T11", "CR12")
def test_without_finalizers_it_goes_in_the_request(store: Store) -> None:
    made = create(store)
    assert store.write(lambda tx: resources.request_deletion(tx, made)) is None
    assert (read(store), queued(store)) == (None, [])


@pytest.mark.req("T13")
def test_an_owner_goes_after_its_last_child(store: Store) -> None:
    owner = create(store, Ref("bundle", "b", "default"))
    child = create(store, Ref("template", "t", "default"), owner=owner.uid, finalizers=("x",))
    assert store.write(lambda tx: resources.request_deletion(tx, owner)) is not None
    store.write(lambda tx: resources.request_deletion(tx, child))
    freed = store.write(lambda tx: resources.replace_status(tx, read(store, child.ref), child.status, finalizers=()))
    store.write(lambda tx: resources.remove_if_free(tx, freed))
    assert (read(store, child.ref), read(store, owner.ref)) == (None, None)


@pytest.mark.req("T12")
def test_a_changed_spec_under_deletion_is_refused(store: Store) -> None:
    made = create(store, finalizers=("x",))
    asked = store.write(lambda tx: resources.request_deletion(tx, made))
    with pytest.raises(BeingDeleted, match="is being deleted since"):
        store.write(lambda tx: resources.replace(tx, asked, document=a_pool(maxRestartsPerHour=1)))
    assert read(store) == asked


@pytest.mark.req("T15", "CR8")
def test_a_reading_handle_reads_and_never_writes(store: Store) -> None:
    made = create(store)
    with store.read() as tx:
        assert resources.get(tx, POOL) == made
        assert resources.by_uid(tx, made.uid) == made
        assert resources.list_all(tx, "pool") == (made,)
        writes = (
            lambda: resources.create(tx, Ref("pool", "other"), a_pool()),
            lambda: resources.replace(tx, made, labels={"a": "b"}),
            lambda: resources.replace_status(tx, made, PoolStatus(node_count=3)),
            lambda: resources.request_deletion(tx, made),
            lambda: queue.enqueue(tx, POOL),
        )
        for write in writes:
            with pytest.raises((ReadOnly, TypeError)):
                write()
    assert read(store) == made


@pytest.mark.req("CR6")
def test_lists_and_uids(store: Store) -> None:
    b, a = create(store, Ref("pool", "b")), create(store, Ref("pool", "a"), labels={"team": "x"})
    with store.read() as tx:
        assert resources.list_all(tx, "pool") == (a, b)
        assert resources.by_uid(tx, b.uid) == b
        assert resources.labelled(tx, "pool", "team", "x") == (a,)
        with pytest.raises(NotFound):
            resources.get(tx, Ref("pool", "c"))


@pytest.mark.req("CR10")
def test_projects_do_not_see_each_other(store: Store) -> None:
    ours = create(store, Ref("bundle", "b", "ours"))
    theirs = create(store, Ref("bundle", "b", "theirs"))
    with store.read() as tx:
        assert resources.list_all(tx, "bundle", "ours") == (ours,)
        assert resources.list_all(tx, "bundle", "theirs") == (theirs,)
        assert resources.list_all(tx, "bundle", "unknown") == ()


@pytest.mark.req("B17")
def test_a_spec_of_one_mebibyte_passes_and_one_byte_more_does_not(store: Store) -> None:
    bundle = a_bundle()
    bundle["jobs"][0]["parameters"] = {"x": ""}
    from resources.canonical import size

    bundle["jobs"][0]["parameters"]["x"] = "a" * (1024 * 1024 - size(bundle))
    ref = Ref("bundle", "big", "default")
    store.write(lambda tx: resources.create(tx, ref, bundle))
    larger = {
        **bundle,
        "jobs": [{**bundle["jobs"][0], "parameters": {"x": bundle["jobs"][0]["parameters"]["x"] + "a"}}],
    }
    with pytest.raises(TooLarge, match=r"spec is 1048577 bytes, limit is 1048576 \(1 MiB\)"):
        store.write(lambda tx: resources.replace(tx, read(store, ref), document=larger))


@pytest.mark.req("B114")
def test_a_flipped_bit_in_a_stored_spec_is_found(store: Store) -> None:
    create(store)
    store.write(lambda tx: tx.write(table.update().values(spec=table.c.spec + " ")))
    with pytest.raises(Corrupt, match="pool/local"):
        read(store)


def test_a_watch_from_a_revision_sees_every_later_write_in_order(store: Store) -> None:
    made = create(store)
    changed = store.write(lambda tx: resources.replace(tx, made, labels={"a": "b"}))
    store.write(lambda tx: resources.request_deletion(tx, changed))
    with store.read() as tx:
        seen = [(c.type, c.document["metadata"]["resourceVersion"]) for c in changes.since(tx, 0, kind="pool")]
    assert [type_ for type_, _ in seen] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert seen == sorted(seen, key=lambda change: int(change[1]))


def test_a_version_that_was_never_read_is_a_conflict(store: Store) -> None:
    made = create(store)
    with pytest.raises(Conflict, match="have 99, now"):
        store.write(lambda tx: resources.replace(tx, with_(made, resource_version=99), labels={"a": "b"}))
