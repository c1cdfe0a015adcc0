"""What is on record, read back."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import delete, text, update

from resources.reference import Ref
from store import record_audit, resources
from store.store import Store
from store.tables import changes
from store.tables import resources as rows
from tests.builders import a_pool


@pytest.fixture
def whole(store: Store) -> Store:
    store.write(lambda tx: resources.create(tx, Ref("pool", "p"), a_pool()))
    return store


def found(store: Store) -> list[tuple[str, str, str]]:
    with store.read() as tx:
        return [tuple(one) for one in record_audit.verify(tx)]  # type: ignore[misc]


def test_what_is_as_it_was_written_raises_no_doubt(whole: Store) -> None:
    assert found(whole) == []
    with whole.read() as tx:
        assert record_audit.counts(tx)["resources"] == 1


@pytest.mark.req("B114")
def test_a_row_that_rotted_is_named(whole: Store) -> None:
    whole.write(lambda tx: tx.write(update(rows).values(spec='{"tiers":[]}')))
    assert found(whole) == [("row", "pool/p", "does not match its checksum")]


def test_a_row_that_something_else_wrote_is_not_what_the_log_says(whole: Store) -> None:
    whole.write(lambda tx: tx.write(update(rows).values(resource_version=99)))
    assert found(whole) == [("log", "pool/p", "stands at 99, and its newest change is 1")]


def test_a_log_that_was_compacted_is_no_doubt(whole: Store) -> None:
    whole.write(lambda tx: tx.write(delete(changes)))
    assert found(whole) == []


def test_a_row_of_nothing_is_named(whole: Store) -> None:
    def orphan(tx: Any) -> None:
        tx.write(text("PRAGMA defer_foreign_keys=ON"))
        tx.write(text("INSERT INTO labels (uid, key, value, kind) VALUES ('u', 'k', 'v', 'pool')"))
        raise Done([tuple(one) for one in record_audit.verify(tx)])

    with pytest.raises(Done) as done:
        whole.write(orphan)
    assert done.value.args[0] == [("reference", "labels", "row 1 belongs to nothing in resources")]


class Done(Exception):
    """Ends a write that is not to be kept."""
