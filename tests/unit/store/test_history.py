"""What stood in the store just before a revision, from the log and from what never changed since."""

from __future__ import annotations

import pytest

from resources.reference import Ref
from store import changes, history, resources
from store.store import Store
from tests.builders import a_pool


def pools(store: Store, revision: int) -> dict[str, int]:
    """Name to maxRestartsPerHour."""
    with store.read() as tx:
        return {
            ref.name: found["spec"].get("maxRestartsPerHour", 0)
            for ref, found in history.before(tx, revision, "pool").items()
        }


def put(store: Store, name: str, restarts: int) -> int:
    """The revision of the write."""
    ref = Ref("pool", name)

    def write(tx) -> int:
        found = resources.find(tx, ref)
        document = a_pool(maxRestartsPerHour=restarts)
        made = resources.create(tx, ref, document) if found is None else resources.replace(tx, found, document=document)
        return made.resource_version

    return store.write(write)


def test_each_revision_shows_what_stood_before_it(store: Store) -> None:
    first = put(store, "a", 1)
    second = put(store, "a", 2)
    third = put(store, "b", 3)
    assert pools(store, first) == {}
    assert pools(store, second) == {"a": 1}
    assert pools(store, third) == {"a": 2}
    assert pools(store, third + 1) == {"a": 2, "b": 3}


def test_what_was_deleted_stood_before_that(store: Store) -> None:
    put(store, "a", 1)
    last = put(store, "b", 1)
    store.write(lambda tx: resources.request_deletion(tx, resources.get(tx, Ref("pool", "a"))))
    assert pools(store, last + 1) == {"a": 1, "b": 1}
    with store.read() as tx:
        assert set(pools(store, changes.head(tx) + 1)) == {"b"}


def test_what_never_changed_is_known_after_its_log_is_gone(store: Store) -> None:
    put(store, "old", 1)
    moved = put(store, "new", 1)
    again = put(store, "new", 2)
    store.write(lambda tx: changes.compact(tx, keep=1))
    assert pools(store, again + 1) == {"old": 1, "new": 2}
    with pytest.raises(history.Compacted):
        pools(store, moved + 1)
