"""The law of watches: whoever lists and then watches ends with what a new list would say."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.http import watches
from api.http.problems import Problem
from api.http.queries import Listing
from controllers.runtime.environment import Threads
from resources.reference import Ref
from resources.registry import BY_NAME
from resources.selector_text import parse, parse_fields
from store import changes, resources
from store.store import Store
from tests.builders import a_bundle

BUNDLES = BY_NAME["bundle"]
PROJECTS = itertools.count()
NAMES = ("a", "b")
STEPS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["web", "db", "gone"])), max_size=6)
SELECTORS = st.sampled_from(["", "tier=web", "tier!=web"])
FIELDS = st.sampled_from(["", "metadata.name=a"])


@pytest.fixture(scope="module")
def store():
    """One for all examples; each has a project of its own."""
    opened = Store.in_memory(Threads())
    yield opened
    opened.close()


def take(tx, project, name, tier):
    """One step: the bundle gets a tier, or goes."""
    ref = Ref("bundle", name, project)
    found = resources.find(tx, ref)
    if tier == "gone":
        if found is not None:
            resources.request_deletion(tx, found)
    elif found is None:
        resources.create(tx, ref, a_bundle(), labels={"tier": tier})
    else:
        resources.replace(tx, found, labels={"tier": tier})


def listed(tx, project, listing):
    """What a list says: name to version."""
    _, documents = watches.begin(tx, watches.Watch(BUNDLES, project, listing, snapshot=True))
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in documents}


def kept(known, events):
    """The cache of a client after these events."""
    for type_, document in events:
        if type_ == "DELETED":
            known.pop(document["metadata"]["name"], None)
        else:
            known[document["metadata"]["name"]] = document["metadata"]["resourceVersion"]
    return known


@given(STEPS, STEPS, STEPS, SELECTORS, FIELDS)
@example([("a", "web")], [("a", "db")], [], "tier=web", "")
@example([("a", "db")], [("a", "web")], [("a", "db")], "tier=web", "")
@example([("a", "web")], [("a", "gone")], [], "tier=web", "")
@example([("a", "web")], [("a", "db"), ("a", "gone")], [], "tier=web", "")
def test_a_list_and_its_watch_end_where_a_new_list_begins(store, before, between, after, labels, fields):
    """`between` happens after the list and before its watch begins."""
    project = f"p{next(PROJECTS)}"
    listing = Listing(parse(labels), parse_fields(fields, ("metadata.name",)))

    def step(steps):
        for name, tier in steps:
            store.write(lambda tx, name=name, tier=tier: take(tx, project, name, tier))

    step(before)
    with store.read() as tx:
        known, revision = listed(tx, project, listing), changes.head(tx)
    step(between)
    watch = watches.Watch(BUNDLES, project, listing, snapshot=False, revision=revision)
    with store.read() as tx:
        position, documents = watches.begin(tx, watch)
    step(after)
    with store.read() as tx:
        events, caught_up = watches.following(tx, watch, position)
        assert (documents, kept(known, events), caught_up) == ([], listed(tx, project, listing), True)


def test_a_watch_that_falls_behind_what_is_kept_is_told_so(store):
    watch = watches.Watch(BUNDLES, "late", Listing(parse(""), parse_fields("", ())), snapshot=True)
    with store.read() as tx:
        position, _ = watches.begin(tx, watch)
    for tier in ("web", "db", "web", "db"):
        store.write(lambda tx, tier=tier: take(tx, "late", "a", tier))
    store.write(lambda tx: changes.compact(tx, 1))
    with store.read() as tx, pytest.raises(Problem, match="too old, list again"):
        watches.following(tx, watch, position)
