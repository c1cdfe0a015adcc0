"""Which nodes have fallen silent is seen for all of them together, and wakes only those."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.runtime.epoch import Epoch
from controllers.runtime.hearing import Hearing
from resources.facts import Inventory, NodeFacts
from resources.reference import Ref
from store import nodes, queue, resources
from store.store import Store
from tests.clocked import Clocked


class Watched(Clocked):
    """A clock whose monotonic side goes along, unless it is set."""

    passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def go(self, seconds: float) -> None:
        self.passed += seconds
        self.time += seconds


class Room(NamedTuple):
    clock: Watched
    store: Store
    hearing: Hearing

    def hear(self, name: str, *, told: float = 15.0, connected: bool = True) -> None:
        """A node's Hello; `told`: after how many seconds it counts as silent."""
        facts = NodeFacts(name, "b", Inventory(4000, 4), self.clock.now(), connected=connected, silent_seconds=told)
        self.store.write(partial(nodes.put_facts, facts=facts))

    def due(self) -> list[str]:
        with self.store.read() as tx:
            return [row.name for row in queue.list_all(tx) if row.available_at <= tx.now]


@pytest.fixture
def room(tmp_path: Path):
    clock = Watched()
    store = Store.open(tmp_path, clock)
    for name in ("node-a", "node-b"):
        store.write(partial(resources.create, ref=Ref("node", name), document={"pool": "local"}))
    store.write(lambda tx: [queue.remove(tx, Ref("node", name)) for name in ("node-a", "node-b")])
    yield Room(clock, store, Hearing(store, clock, Epoch(clock, clock.now())))
    store.close()


def test_only_the_node_that_fell_silent_is_woken_and_once(room: Room) -> None:
    room.hear("node-a")
    room.hear("node-b")
    room.clock.go(10)
    room.store.write(partial(nodes.heartbeat, node="node-b"))
    room.clock.go(4.5)
    assert (room.hearing.look(), room.due()) == ((), [])
    room.clock.go(1)
    assert (room.hearing.look(), room.due()) == (("node-a",), ["node-a"])
    room.clock.go(1)
    assert room.hearing.look() == ()


def test_nothing_is_written_while_all_are_heard(room: Room) -> None:
    room.hear("node-a")
    room.clock.go(14)
    with room.store.read() as tx:
        before = queue.list_all(tx)
    room.hearing.look()
    with room.store.read() as tx:
        assert queue.list_all(tx) == before == ()


def test_a_node_counts_by_what_it_was_told(room: Room) -> None:
    """Of one that was told nothing, by a server of before, its own looks take care."""
    room.hear("node-a", told=0.0)
    room.hear("node-b", told=40.0)
    room.clock.go(39.5)
    assert room.hearing.look() == ()
    room.clock.go(1)
    assert room.hearing.look() == ("node-b",)


def test_a_node_that_is_not_connected_falls_silent_as_well(room: Room) -> None:
    """So are all of them at a server's start, until they are heard again."""
    room.hear("node-a")
    room.store.write(nodes.restart_clocks)
    room.clock.go(15)
    assert room.hearing.look() == ("node-a",)


def test_a_node_without_a_record_is_nobodys_key(room: Room) -> None:
    room.hear("gone")
    room.clock.go(15)
    assert (room.hearing.look(), room.due()) == (("gone",), [])


def test_a_clock_that_is_set_on_starts_every_silence_anew(room: Room) -> None:
    room.hear("node-a")
    room.clock.go(1)
    room.hearing.look()
    room.clock.time += 3600.0
    assert room.hearing.look() == ()
    room.clock.go(14)
    assert room.hearing.look() == ()
    room.clock.go(1)
    assert room.hearing.look() == ("node-a",)


def test_a_clock_that_is_set_back_hides_no_silence(room: Room) -> None:
    room.clock.go(3600)
    room.hearing.look()
    room.clock.time -= 3600.0
    room.hearing.look()
    room.hear("node-a")
    room.clock.go(14)
    assert room.hearing.look() == ()
    room.clock.go(1)
    assert room.hearing.look() == ("node-a",)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 20), st.sampled_from(["look", "a", "b"])), max_size=20))
def test_every_silence_is_seen_by_the_first_look_at_it(tmp_path_factory, steps: list[tuple[float, str]]) -> None:
    clock = Watched()
    store = Store.open(tmp_path_factory.mktemp("hearing"), clock)
    room = Room(clock, store, Hearing(store, clock, Epoch(clock, clock.now())))
    heard: dict[str, float] = {}
    told: set[str] = set()
    for seconds, what in steps:
        clock.go(seconds)
        if what == "look":
            silent = {name for name, at in heard.items() if at + 15.0 <= clock.now()}
            assert set(room.hearing.look()) == silent - told
            told |= silent
        else:
            room.hear(what)
            heard[what] = clock.now()
            told.discard(what)
    store.close()
