"""Lists print rows without making resources of them: the same letters as the long way round."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from api.http import exchange, lists, queries
from resources import registry
from resources.conditions import condition
from resources.reference import Ref
from resources.resource import KEY_ANNOTATION
from resources.wire import to_wire
from store import paging, resources, shown
from store.errors import Corrupt
from store.rows import checksum
from store.store import Store
from store.tables import resources as table
from tests.builders import a_bundle, a_job_spec, a_pool
from tests.clocked import Clocked

WAKES = [{"kind": "bundle", "key": "b"}]
DOCUMENTS: dict[str, dict[str, Any]] = {
    "pool": a_pool(),
    "node": {"pool": "local"},
    "bundle": a_bundle(),
    "job": a_job_spec(),
    "reservation": {"pool": "local", "wholeNode": True},
    "template": {"images": ["a", "\u00fc\u2028\x7f"]},
    "schedule": {"cron": "0 8 * * *", "wakes": WAKES},
    "webhook": {"secret": {"secret": "hooks", "key": "one"}, "wakes": WAKES},
    "oddity": {"any": {"thing": [1, 2.5, 1e22, -0.0, None, True, "\u00fc"]}},
}
STATUSES: dict[str, dict[str, Any]] = {
    "pool": {"nodeCount": 3},
    "job": {"phase": "running", "node": "node-a", "waitingSince": "2026-01-31T12:00:00.250Z"},
    "reservation": {"phase": "active", "start": "2026-01-31T12:00:00Z", "allocations": [{"node": "n"}]},
    "webhook": {"received": 7},
    "oddity": {"mine": {"of": [None, 1e-7, "\n"]}, "nothing": None},
}
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
labels = st.dictionaries(words, words, max_size=3)
annotations = st.dictionaries(st.one_of(st.just(KEY_ANNOTATION), words), words, max_size=3)
numbers = itertools.count()


@pytest.fixture(scope="module")
def store():
    made = Store.in_memory(Clocked(1_700_000_000.75))
    yield made
    made.close()


def test_every_kind_is_tried() -> None:
    assert set(DOCUMENTS) >= set(registry.BUILT_IN)


@pytest.mark.parametrize("kind", DOCUMENTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    labels=labels,
    annotations=annotations,
    finalizers=st.lists(words, max_size=2, unique=True),
    status=st.booleans(),
    owner=st.booleans(),
    message=words,
)
def test_a_row_is_printed_as_its_resource_is(store, kind, labels, annotations, finalizers, status, owner, message):
    found = registry.of(kind)
    ref = Ref(kind, f"b-{next(numbers)}.primary.a", "default" if found.namespaced else "")

    def write(tx):
        parent = resources.create(tx, ref._replace(name=f"{ref.name}.parent"), DOCUMENTS[kind]).uid if owner else None
        made = resources.create(
            tx, ref, DOCUMENTS[kind], labels=labels, annotations=annotations, finalizers=(*finalizers,), owner=parent
        )
        if status:
            told = found.status.model_validate(STATUSES.get(kind, {}))
            known = (condition("Ready", True, "Well", message),)
            made = resources.replace_status(tx, made, told.model_copy(update={"conditions": known}))
        if finalizers:
            resources.request_deletion(tx, made)

    store.write(write)
    with store.read() as tx:
        row = shown.find(tx, ref)
        long_way = resources.get(tx, ref)
        assert shown.text_of(row) == exchange.dumps(to_wire(long_way))
        assert (shown.labels_of(row), shown.key_of(row)) == (dict(long_way.labels), long_way.key)


def test_a_status_of_an_older_release_is_printed_as_this_one_knows_it(store):
    """Fields that came since are there, as they are where the resource itself is asked for."""
    ref = Ref("pool", "old")

    def write(tx):
        made = resources.create(tx, ref, a_pool())
        row = {**shown.find(tx, ref)._mapping, "status": "{}"}
        tx.write(update(table).where(table.c.uid == made.uid).values(status="{}", checksum=checksum(row)))

    store.write(write)
    with store.read() as tx:
        text = shown.text_of(shown.find(tx, ref))
        assert text == exchange.dumps(to_wire(resources.get(tx, ref)))
    assert json.loads(text)["status"]["nodeCount"] == 0


def test_a_list_is_answered_with_the_letters_of_its_documents(store):
    with store.read() as tx:
        for kind in registry.every():
            page = lists.page(tx, kind, None, queries.listing({"limit": "7"}, "x"))
            around = {"kind": f"{kind.name}List", "metadata": {}}
            short = exchange.listed(around, page.items).body
            assert short == exchange.answer({**around, "items": page.documents}).body


def test_no_row_is_printed_that_does_not_match_its_checksum(store):
    ref = Ref("template", "rotten", "elsewhere")

    def write(tx):
        made = resources.create(tx, ref, DOCUMENTS["template"])
        tx.write(update(table).where(table.c.uid == made.uid).values(spec='{"images":["b"]}'))

    store.write(write)
    with store.read() as tx:
        reads = (
            lambda: shown.find(tx, ref),
            lambda: shown.every(tx, "template", "elsewhere"),
            lambda: paging.page(tx, "template", "elsewhere", None, 10),
        )
        for read in reads:
            with pytest.raises(Corrupt):
                read()
        tx.spoilt = {}
        assert (paging.page(tx, "template", "elsewhere", None, 10), list(tx.spoilt)) == ((), [ref])
