"""Watches: from a snapshot, from a revision, selected, as tables, compacted; nobody waits for a slow reader."""

from __future__ import annotations

from collections.abc import Iterator
from getpass import getuser

import pytest

from store import changes
from tests.builders import a_bundle
from tests.http_serving import API, Served, a_document, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        found.put_pool()
        yield found


def seen(event):
    return event["type"], event["object"]["metadata"].get("name")


def take(lines, count):
    return [seen(next(lines)) for _ in range(count)]


def test_a_watch_without_a_revision_begins_with_what_there_is(served):
    served.apply(a_document(), a_document(name="ch-2"))
    with served.watch("bundles") as lines:
        assert take(lines, 2) == [("ADDED", "ch-1"), ("ADDED", "ch-2")]
        served.apply(a_document(spec=a_bundle(priority=1)))
        served.client.delete(f"{API}/namespaces/default/bundles/ch-2")
        assert take(lines, 3) == [("MODIFIED", "ch-1"), ("MODIFIED", "ch-2"), ("DELETED", "ch-2")]


def test_a_watch_from_a_list_misses_nothing(served):
    revision = served.get("bundles")["metadata"]["resourceVersion"]
    served.apply(a_document())
    served.apply(a_document(spec=a_bundle(priority=1)))
    with served.watch("namespaces/default/bundles", resourceVersion=revision) as lines:
        events = [next(lines), next(lines)]
    assert [seen(event) for event in events] == [("ADDED", "ch-1"), ("MODIFIED", "ch-1")]
    assert int(events[0]["object"]["metadata"]["resourceVersion"]) == int(revision) + 1


def test_the_end_of_the_snapshot_is_marked_for_who_asks(served):
    served.apply(a_document())
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    with served.watch("bundles", **query) as lines:
        assert seen(next(lines)) == ("ADDED", "ch-1")
        bookmark = next(lines)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_what_stops_matching_is_deleted_for_the_watcher_and_what_begins_to_is_added(served):
    served.apply(a_document(labels={"tier": "web"}), a_document(name="ch-2", labels={"tier": "db"}))
    with served.watch("bundles", labelSelector="tier=web") as lines:
        assert take(lines, 1) == [("ADDED", "ch-1")]
        served.apply(a_document(name="ch-2", labels={"tier": "web"}))
        served.apply(a_document(labels={"tier": "db"}))
        served.apply(a_document(labels={"tier": "mail"}))
        served.apply(a_document(labels={"tier": "web"}))
        assert take(lines, 3) == [("ADDED", "ch-2"), ("DELETED", "ch-1"), ("ADDED", "ch-1")]


def test_one_name_is_watched_by_field(served):
    served.apply(a_document(), a_document(name="ch-2"))
    with served.watch("bundles", fieldSelector="metadata.name=ch-2") as lines:
        served.apply(a_document(spec=a_bundle(priority=1)))
        served.apply(a_document(name="ch-2", spec=a_bundle(priority=2)))
        assert take(lines, 2) == [("ADDED", "ch-2"), ("MODIFIED", "ch-2")]


@pytest.mark.req("B48")
def test_a_compacted_revision_is_too_old(served):
    for priority in range(5):
        served.apply(a_document(spec=a_bundle(priority=priority)))
    served.store.write(lambda tx: changes.compact(tx, 2))
    answer = served.client.get(f"{API}/bundles", params={"watch": "1", "resourceVersion": "1"})
    assert (answer.status_code, answer.json()["message"]) == (410, "too old, list again")
    exact = served.client.get(f"{API}/bundles", params={"resourceVersionMatch": "Exact", "resourceVersion": "1"})
    assert (exact.status_code, exact.json()["reason"]) == (410, "Expired")


@pytest.mark.req("B48")
def test_a_future_revision_is_refused(served):
    answer = served.client.get(f"{API}/bundles", params={"watch": "1", "resourceVersion": "999999"})
    assert answer.status_code == 400


def test_a_watch_ends_when_its_time_is_up(served):
    with served.watch("bundles", timeoutSeconds="1", allowWatchBookmarks="true") as lines:
        assert [line["type"] for line in lines] == ["BOOKMARK"]


def test_a_stopping_server_ends_its_watches_with_a_bookmark(served):
    revision = served.get("server")["revision"]
    with served.watch("bundles", resourceVersion=str(revision), allowWatchBookmarks="true") as lines:
        served.app.state.hub.close()
        assert [(line["type"], line["object"]["metadata"]["resourceVersion"]) for line in lines] == [
            ("BOOKMARK", str(revision))
        ]


@pytest.mark.req("B110")
def test_readers_that_do_not_read_keep_nobody_waiting(served):
    """A hundred open watches that take no line, while writes and reads are answered and a reader sees everything."""
    padded = {"note": "x" * 20_000}
    revision = served.get("bundles")["metadata"]["resourceVersion"]
    idle = [served.client.stream("GET", f"{API}/bundles", params={"watch": "1"}) for _ in range(90)]
    for stream in idle:
        stream.__enter__()
    try:
        for priority in range(20):
            assert served.apply(a_document(spec=a_bundle(priority=priority), annotations=padded)).status_code == 200
        assert served.get("namespaces/default/bundles/ch-1")["spec"]["priority"] == 19
        with served.watch("bundles", resourceVersion=revision) as lines:
            assert take(lines, 20) == [("ADDED", "ch-1"), *[("MODIFIED", "ch-1")] * 19]
    finally:
        for stream in idle:
            stream.__exit__(None, None, None)


def test_events_are_watched_like_resources(served):
    from resources.event import Event
    from resources.reference import Ref
    from store import events, resources

    served.apply(a_document(), a_document(name="ch-2"))

    def happen(name, message):
        ref = Ref("bundle", name, "default")
        served.store.write(lambda tx: events.add(tx, ref, resources.get(tx, ref).uid, Event("BundleUpdated", message)))

    happen("ch-1", "before")
    with served.watch("events", **{"for": "bundle/ch-1"}) as lines:
        seen = ["created", f"{getuser()} created generation 1", "before"]
        assert [next(lines)["object"]["message"] for _ in seen] == seen
        happen("ch-2", "elsewhere")
        happen("ch-1", "after")
        event = next(lines)["object"]
    assert (event["message"], event["for"], event["project"], event["count"]) == ("after", "bundle/ch-1", "default", 1)
    listed = served.get("events", **{"for": "bundle/ch-1"})["items"]
    assert [one["message"] for one in listed] == ["after", *reversed(seen)]
