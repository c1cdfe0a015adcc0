"""What an event may hold, and how many of them are kept."""

import pytest

from resources.event import AUDIT, Event
from resources.reference import Ref
from store import events
from store.errors import TooLarge


@pytest.mark.req("B108")
def test_a_payload_is_bounded_and_its_limit_is_named(store):
    def add(letters: int) -> None:
        payload = {"x": "y" * (letters - len('{"x":""}'))}
        store.write(lambda tx: events.add(tx, Ref("pool", "p"), "u", Event("Told", "message", payload=payload)))

    add(65536)
    with pytest.raises(TooLarge, match=r"^event payload limit is 65536 bytes, this one has 65537$"):
        add(65537)
    with store.read() as tx:
        assert [one.count for one in events.list_for(tx)] == [1]


def tell(store, type_, message, severity="Normal", uid="u"):
    store.write(lambda tx: events.add(tx, Ref("pool", "p"), uid, Event(type_, message, severity)))


def listed(store, **which):
    with store.read() as tx:
        return [(one.type, one.message, one.count) for one in events.list_for(tx, **which)]


@pytest.mark.req("T55")
def test_equal_events_are_one_row_that_counts_them(store, clock):
    """Equal in type, severity and message, and of one resource."""
    for uid in ("u", "u", "other", "u"):
        clock.time += 1
        tell(store, "JobUpdated", "exit 1", uid=uid)
    tell(store, "JobUpdated", "exit 1", "Warning")
    with store.read() as tx:
        (warned, merged) = events.list_for(tx, uid="u")
    assert (merged.count, merged.first_at, merged.last_at) == (3, 1001.0, 1004.0)
    assert (warned.count, listed(store, uid="other")) == (1, [("JobUpdated", "exit 1", 1)])


@pytest.mark.req("T55")
def test_a_warning_outlives_a_flood_of_normal_events(store):
    tell(store, "JobDropped", "restart ceiling", "Warning")
    for number in range(3 * events.KEEP_NORMAL):
        tell(store, "JobUpdated", f"{number}")
    kept = listed(store, uid="u", limit=1000)
    newest = [
        ("JobUpdated", f"{number}", 1) for number in reversed(range(2 * events.KEEP_NORMAL, 3 * events.KEEP_NORMAL))
    ]
    assert kept == [*newest, ("JobDropped", "restart ceiling", 1)]


def test_who_did_what_is_kept_whatever_else_happens(store):
    tell(store, AUDIT, "ana created generation 1")
    for number in range(3 * events.KEEP_NORMAL):
        tell(store, "JobUpdated", f"{number}")
    assert listed(store, uid="u", limit=1000)[-1] == (AUDIT, "ana created generation 1", 1)
    store.write(
        lambda tx: [events.add(tx, Ref("pool", "p"), "u", Event(AUDIT, f"{n}")) for n in range(events.KEEP_AUDIT)]
    )
    audited = [message for type_, message, _ in listed(store, uid="u", limit=5000) if type_ == AUDIT]
    assert audited == [f"{number}" for number in range(events.KEEP_AUDIT - 1, -1, -1)]


def test_events_are_listed_newest_first_and_a_hundred_unless_told(store, clock):
    for number in range(120):
        clock.time += 1
        tell(store, "JobUpdated", "x", uid=f"u-{number}")
    with store.read() as tx:
        told = [one.uid for one in events.list_for(tx)]
    assert told == [f"u-{number}" for number in range(119, 19, -1)]
